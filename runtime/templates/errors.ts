/** Line and column of a template's text, counted from 1; columns are UTF-16 units. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** For many places of one text. */
export const positionsIn = (text: string): ((offset: number) => Position) => {
  const lineStarts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
  return (offset) => {
    let [line, beyond] = [0, lineStarts.length];
    while (beyond - line > 1) {
      const middle = (line + beyond) >> 1;
      if ((lineStarts[middle] ?? 0) <= offset) line = middle;
      else beyond = middle;
    }
    return { line: line + 1, column: offset - (lineStarts[line] ?? 0) + 1 };
  };
};

export const positionIn = (text: string, offset: number): Position => positionsIn(text)(offset);

const placed = (reason: string, { line, column }: Position): string => `${reason} (line ${line}, column ${column})`;

/** The text is no template. `reason` and `remedy` are fit to be shown to its author. */
export class TemplateSyntaxError extends Error {
  override readonly name = 'TemplateSyntaxError';
  readonly position: Position;
  readonly reason: string;
  readonly remedy: string | undefined;

  constructor(reason: string, position: Position, remedy?: string) {
    super(placed(reason, position));
    this.reason = reason;
    this.position = position;
    this.remedy = remedy;
  }
}

/**
 * The template has no result for these values, or goes beyond its bounds. `reason` names types and keys, and never
 * holds a value of the data.
 */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
  readonly reason: string;
  readonly position: Position;
  /** Set when a bound was exceeded, and which. */
  readonly bound: TemplateBound | undefined;

  constructor(reason: string, position: Position, bound?: TemplateBound) {
    super(placed(reason, position));
    this.reason = reason;
    this.position = position;
    this.bound = bound;
  }
}

export type TemplateBound = 'output' | 'steps' | 'time' | 'depth';

/** What a function or operator throws, which does not know where in the template it stands. */
export class EvaluationError extends Error {
  override readonly name = 'EvaluationError';
  readonly bound: TemplateBound | undefined;

  constructor(reason: string, bound?: TemplateBound) {
    super(reason);
    this.bound = bound;
  }
}
