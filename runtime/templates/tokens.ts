import { TemplateSyntaxError, positionIn } from './errors.ts';

export type TokenKind =
  | 'text'
  | 'open'
  | 'close'
  | 'space'
  | 'word'
  | 'field'
  | 'dot'
  | 'variable'
  | 'number'
  | 'character'
  | 'string'
  | 'rawString'
  | '('
  | ')'
  | '|'
  | ','
  | '='
  | ':='
  | 'end';

/** `text` as it stands in the template; that of a `text` token is trimmed already. */
export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly at: number;
}

/** https://pkg.go.dev/text/template "Text and spaces": what trim markers remove. */
const SPACE = ' \\t\\r\\n';
const LETTER = '[_\\p{L}\\p{Nd}]';

const sticky = (source: string): RegExp => new RegExp(source, 'uy');

const OPEN_TRIM = sticky(`\\{\\{-(?=[${SPACE}])`);
const COMMENT = sticky(`(?:-[${SPACE}])?/\\*`);
const CLOSE = sticky(`\\}\\}`);
const CLOSE_TRIM = sticky(`[${SPACE}]-\\}\\}[${SPACE}]*`);
const TERMINATED = sticky(`[${SPACE}.,|:()]|\\}\\}|$`);

/** Every one of these looks at each character once. */
const INSIDE: readonly (readonly [TokenKind, RegExp])[] = [
  ['space', sticky(`[${SPACE}]+`)],
  ['number', sticky(`[+-]?(?:\\.?\\d)(?:[\\p{L}\\p{Nd}_.]|(?<=[eEpP])[+-])*`)],
  ['variable', sticky(`\\$${LETTER}*`)],
  ['field', sticky(`\\.${LETTER}+`)],
  ['dot', sticky('\\.')],
  ['word', sticky(`${LETTER}+`)],
  ['string', sticky('"(?:[^"\\\\\\n]|\\\\[^\\n])*"')],
  ['rawString', sticky('`[^`]*`')],
  ['character', sticky("'(?:[^'\\\\\\n]|\\\\[^\\n])*'")],
  [':=', sticky(':=')],
];
const SINGLE: ReadonlySet<string> = new Set(['(', ')', '|', ',', '=']);
const NEEDS_TERMINATOR: ReadonlySet<TokenKind> = new Set(['variable', 'field', 'word', 'dot']);

/** The template as tokens, the last of which is `end`. Throws TemplateSyntaxError. */
export const tokensOf = (text: string): readonly Token[] => {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const open = text.indexOf('{{', at);
    const end = open < 0 ? text.length : open;
    const trims = open >= 0 && matchAt(OPEN_TRIM, text, open) !== undefined;
    const plain = trims ? withoutTrailingSpace(text.slice(at, end)) : text.slice(at, end);
    if (plain !== '') tokens.push({ kind: 'text', text: plain, at });
    if (open < 0) break;
    at = open + 2;
    if (matchAt(COMMENT, text, at) === undefined) {
      tokens.push({ kind: 'open', text: '{{', at: open });
      at = readAction(text, trims ? at + 2 : at, tokens);
    } else {
      at = afterComment(text, open);
    }
  }
  tokens.push({ kind: 'end', text: '', at: text.length });
  return tokens;
};

const readAction = (text: string, from: number, tokens: Token[]): number => {
  let at = from;
  for (;;) {
    const close = matchAt(CLOSE_TRIM, text, at) ?? matchAt(CLOSE, text, at);
    if (close !== undefined) {
      tokens.push({ kind: 'close', text: '}}', at });
      return at + close.length;
    }
    const token = tokenAt(text, at);
    tokens.push(token);
    at += token.text.length;
  }
};

const tokenAt = (text: string, at: number): Token => {
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
  if (at >= text.length) throw wrong(text, at, 'an action has no end', 'close it with }}');
  if (SINGLE.has(character)) return { kind: character as TokenKind, text: character, at };
  for (const [kind, pattern] of INSIDE) {
    const found = matchAt(pattern, text, at);
    if (found === undefined) continue;
    if (kind === 'space') return { kind, text: upToTrimMarker(text, at, found), at };
    if (NEEDS_TERMINATOR.has(kind)) checkTerminated(text, at + found.length);
    return { kind, text: found, at };
  }
  if ('"\'`'.includes(character)) throw wrong(text, at, 'a text has no end', `close it with ${character}`);
  throw wrong(text, at, `unexpected character ${JSON.stringify(character)} in an action`);
};

/** The space before `-}}` belongs to the trim marker. */
const upToTrimMarker = (text: string, at: number, spaces: string): string =>
  text.startsWith('-}}', at + spaces.length) ? spaces.slice(0, -1) : spaces;

const checkTerminated = (text: string, at: number): void => {
  if (matchAt(TERMINATED, text, at) !== undefined) return;
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
  const remedy =
    character === '-'
      ? 'a name with a dash is read with index, as in {{index .steps "my-step" "output"}}'
      : 'separate names, fields and values by spaces';
  throw wrong(text, at, `unexpected character ${JSON.stringify(character)} after a name`, remedy);
};

const afterComment = (text: string, open: number): number => {
  const end = text.indexOf('*/', text.indexOf('/*', open) + 2);
  if (end < 0) throw wrong(text, open, 'a comment has no end', 'close it with */}}');
  const close = matchAt(CLOSE_TRIM, text, end + 2) ?? matchAt(CLOSE, text, end + 2);
  if (close === undefined) throw wrong(text, end, 'a comment has to fill its action', 'write {{/* … */}}');
  return end + 2 + close.length;
};

const matchAt = (pattern: RegExp, text: string, at: number): string | undefined => {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
};

/** Not by a regular expression, which would try every space anew. */
const withoutTrailingSpace = (text: string): string => {
  let end = text.length;
  while (end > 0 && ' \t\r\n'.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
};

const wrong = (text: string, at: number, reason: string, remedy?: string): TemplateSyntaxError =>
  new TemplateSyntaxError(reason, positionIn(text, at), remedy);
