import { TemplateSyntaxError, positionIn } from './errors.ts';
import { type Token, type TokenKind, tokensOf } from './tokens.ts';

/** Blocks and parentheses inside each other. */
const MAX_NESTING = 200;
/** Variables that are declared at one place: each use looks through them. */
const MAX_VARIABLES = 256;

/** The tokens of a template one after the other, and the variables that are declared where it stands. */
export class TokenReader {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  readonly #last: Token;
  #index = 0;
  #nesting = 0;
  #variables: string[] = ['$'];

  /** Throws TemplateSyntaxError. */
  constructor(text: string) {
    this.#text = text;
    this.#tokens = tokensOf(text);
    this.#last = this.#tokens.at(-1) ?? { kind: 'end', text: '', at: 0 };
  }

  peek(): Token {
    return this.#tokens[this.#index] ?? this.#last;
  }

  next(): Token {
    const token = this.peek();
    this.#index += 1;
    return token;
  }

  peekPastSpace(): Token {
    while (this.peek().kind === 'space') this.#index += 1;
    return this.peek();
  }

  nextPastSpace(): Token {
    this.peekPastSpace();
    return this.next();
  }

  takePastSpace(kind: TokenKind): boolean {
    const isThere = this.peekPastSpace().kind === kind;
    if (isThere) this.#index += 1;
    return isThere;
  }

  place(): number {
    return this.#index;
  }

  goBack(place: number): void {
    this.#index = place;
  }

  /** Runs `parse` one level deeper. */
  nested<T>(token: { readonly at: number }, parse: () => T): T {
    if (this.#nesting === MAX_NESTING)
      throw this.wrong(token, `blocks and parentheses are nested more than ${MAX_NESTING} deep`);
    this.#nesting += 1;
    const parsed = parse();
    this.#nesting -= 1;
    return parsed;
  }

  declare(name: string): void {
    if (this.#variables.length === MAX_VARIABLES)
      throw this.wrong(this.peek(), `more than ${MAX_VARIABLES} variables are declared`);
    this.#variables.push(name);
  }

  /** Variables that are declared inside of `parse` end with it. */
  scoped<T>(parse: () => T): T {
    const { length } = this.#variables;
    const parsed = parse();
    this.#variables.length = length;
    return parsed;
  }

  /** A definition knows no variables of what is around it. */
  isolated<T>(parse: () => T): T {
    const variables = this.#variables;
    this.#variables = ['$'];
    const parsed = parse();
    this.#variables = variables;
    return parsed;
  }

  checkVariable(token: Token): void {
    if (this.#variables.includes(token.text)) return;
    throw this.wrong(
      token,
      `the variable ${token.text} is not declared`,
      `declare it before, as in {{${token.text} := …}}`,
    );
  }

  unexpected(token: Token): TemplateSyntaxError {
    if (token.kind === 'end')
      return this.wrong(token, 'the template ends too early', 'close every if, range and with by {{end}}');
    return this.wrong(token, token.kind === 'close' ? 'a value is missing before }}' : `unexpected ${token.text}`);
  }

  wrong(token: { readonly at: number }, reason: string, remedy?: string): TemplateSyntaxError {
    return new TemplateSyntaxError(reason, positionIn(this.#text, token.at), remedy);
  }
}
