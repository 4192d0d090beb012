/** A URI template, ready to be matched (RFC 6570, levels 1 to 3). */
export interface UriTemplate {
  /** Number of literal characters: of several templates that match, the one with most wins. */
  readonly literalLength: number;
  /** Literal text before the first expression. */
  readonly beginning: string;
  /** To be called for URIs that begin with `beginning`; takes at most `cost` steps. */
  readonly matches: (uri: string) => boolean;
  readonly cost: (uriLength: number) => number;
}

/** Bounds of templates from backends and of URIs from clients; real ones stay far below. */
const MAX_TEMPLATE_LENGTH = 2_048;
const MAX_EXPRESSIONS = 16;
/** Longer URIs are not matched with templates. */
export const MAX_URI_LENGTH = 8_192;

/** Undefined for a text that is no template, has no expressions, or exceeds the bounds: it matches only itself. */
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

/** The values that an expression may have. */
interface Expression {
  /** First character of the value, when it is not empty. */
  readonly first: string | undefined;
  /** Characters that cannot be part of the value. */
  readonly excluded: string;
}

type Part = string | Expression;

/**
 * By operator (RFC 6570 §3.2). Clients do not always encode values properly, so a value may contain more than the RFC
 * allows: a simple one ends at a slash only.
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

/**
 * Tracks, part by part, where the text matched so far may end: there is no backtracking, so the cost is bounded by the
 * lengths.
 */
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
  // An expression with a first character of its own may be omitted as a whole; any other needs a value.
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
