/** A URI template, ready to be matched (RFC 6570, levels 1 to 3). */
export interface UriTemplate {
  /** Characters that are the same in every URI it makes: of several that match, the one that says most decides. */
  readonly literalLength: number;
  /** What every URI it makes begins with. */
  readonly beginning: string;
  /** For a URI that begins so; takes `cost` steps at most. */
  readonly matches: (uri: string) => boolean;
  readonly cost: (uriLength: number) => number;
}

/** What a process takes from a backend and from a client; real ones stay far below. */
const MAX_TEMPLATE_LENGTH = 2_048;
const MAX_EXPRESSIONS = 16;
export const MAX_URI_LENGTH = 8_192;

/** Undefined for what is no template, has no expressions, or is beyond what real servers write: it matches only itself. */
export const uriTemplate = (text: string): UriTemplate | undefined => {
  const parts = text.length <= MAX_TEMPLATE_LENGTH ? partsOf(text) : undefined;
  if (!parts) return undefined;
  const literalLength = parts.reduce((sum, part) => sum + (typeof part === 'string' ? part.length : 0), 0);
  const [first] = parts;
  return {
    literalLength,
    beginning: typeof first === 'string' ? first : '',
    matches: (uri) => uri.length <= MAX_URI_LENGTH && reachesEnd(parts, uri),
    cost: (uriLength) => (parts.length + literalLength) * uriLength,
  };
};

/** What an expression may stand for. */
interface Expression {
  /** What its text begins with, when it is not empty. */
  readonly first: string | undefined;
  /** Characters that cannot be part of it. */
  readonly excluded: string;
}

type Part = string | Expression;

/**
 * By operator (RFC 6570 §3.2). Clients do not always encode what a value should have encoded, so a value is taken for more than the
 * RFC would have written: a simple one ends at a slash only.
 */
const OPERATORS: Readonly<Record<string, Expression>> = {
  '': { first: undefined, excluded: '/' },
  '+': { first: undefined, excluded: '' },
  '#': { first: '#', excluded: '' },
  '.': { first: '.', excluded: '/' },
  '/': { first: '/', excluded: '?#' },
  ';': { first: ';', excluded: '/?#' },
  '?': { first: '?', excluded: '#' },
  '&': { first: '&', excluded: '#' },
};

const VARIABLES = /^[A-Za-z0-9_.%,]+$/;

const partsOf = (text: string): readonly Part[] | undefined => {
  const parts: Part[] = [];
  let at = 0;
  let expressions = 0;
  while (at < text.length) {
    const open = text.indexOf('{', at);
    const literal = open === -1 ? text.slice(at) : text.slice(at, open);
    if (literal.includes('}')) return undefined;
    if (literal !== '') parts.push(literal);
    if (open === -1) break;
    const close = text.indexOf('}', open);
    const expression = close === -1 ? undefined : expressionOf(text.slice(open + 1, close));
    if (!expression || (expressions += 1) > MAX_EXPRESSIONS) return undefined;
    parts.push(expression);
    at = close + 1;
  }
  return expressions === 0 ? undefined : parts;
};

const expressionOf = (text: string): Expression | undefined => {
  const operator = /^[+#./;?&]/.exec(text)?.[0] ?? '';
  return VARIABLES.test(text.slice(operator.length)) ? OPERATORS[operator] : undefined;
};

/** Which ends of the text read so far are possible, part by part: no way back, so the cost is bounded by the lengths alone. */
const reachesEnd = (parts: readonly Part[], uri: string): boolean => {
  let reached = new Uint8Array(uri.length + 1);
  reached[0] = 1;
  for (const part of parts)
    reached = typeof part === 'string' ? afterLiteral(part, uri, reached) : after(part, uri, reached);
  return reached[uri.length] === 1;
};

const afterLiteral = (literal: string, uri: string, from: Uint8Array): Uint8Array<ArrayBuffer> => {
  const reached = new Uint8Array(from.length);
  for (let at = 0; at < from.length; at += 1)
    if (from[at] === 1 && uri.startsWith(literal, at)) reached[at + literal.length] = 1;
  return reached;
};

const after = ({ first, excluded }: Expression, uri: string, from: Uint8Array): Uint8Array<ArrayBuffer> => {
  // An expression that brings its own first character may be left out as a whole; another one needs a value.
  const reached = first === undefined ? new Uint8Array(from.length) : Uint8Array.from(from);
  let isInside = false;
  for (let at = 0; at < uri.length; at += 1) {
    const character = uri.charAt(at);
    const isBegun = from[at] === 1 && (first === undefined || character === first);
    isInside = (isBegun || isInside) && !excluded.includes(character);
    if (isInside) reached[at + 1] = 1;
  }
  return reached;
};
