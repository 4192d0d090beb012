/** How much work a pattern of RE2 is, at most. */
export interface PatternCost {
  /** Instructions of the compiled pattern: time to match is in proportion to them, and to the text. */
  readonly instructions: number;
  /** Units for compiling it. */
  readonly compiling: number;
}

/** Characters of a pattern; an expression has no more either. */
const MAX_LENGTH = 1_024;
/** Time to match is in proportion to it: RE2 itself allows a million. */
const MAX_INSTRUCTIONS = 4_096;

const INSTRUCTION_COST = 4;
/** Scripts and categories of Unicode have hundreds of ranges. */
const CATEGORY_COST = 250;
/** Characters of a range whose other case is sought, one by one, that cost one unit. */
const FOLDED_UNIT = 4;
/** Characters that have another case are below it. */
const LAST_FOLDED = 0x1_e9_43;

/**
 * Counts before anything is compiled, as `(a{1,30}){1,30}` is short, and large once its repetitions are written out.
 * Undefined for a pattern that is larger than one may be. What RE2 refuses gets some cost, too.
 */
export const costOfPattern = (pattern: string): PatternCost | undefined => {
  if (pattern.length > MAX_LENGTH) return undefined;
  const cost = new Scan(pattern).cost();
  return cost.instructions > MAX_INSTRUCTIONS ? undefined : cost;
};

const REPETITION = /\{(\d{1,9})(?:,(\d{0,9}))?\}/y;
/** `(?i)`: what comes behind repeats what is in front of it. */
const FLAGS = /\(\?[a-zA-Z-]*\)/y;
const QUOTED = /\\Q((?:(?!\\E)[^])*)(?:\\E)?/y;
const CATEGORY = /\\[pP](?:\{[^}]*\}|[^])?/y;
const ESCAPED = /\\(?:x\{[^}]*\}|x[\da-fA-F]{2}|[^])/y;
const CLASS_NAME = /\[:\^?\w*:\]/y;

class Scan {
  readonly #pattern: string;
  readonly #ignoresCase: boolean;
  #at = 0;
  #compiling = 0;
  /** Instructions in front of the last atom, and of it; one entry for each open group. */
  readonly #open: { before: number; atom: number }[] = [{ before: 0, atom: 0 }];

  constructor(pattern: string) {
    this.#pattern = pattern;
    this.#ignoresCase = /\(\?[a-zA-Z-]*i/.test(pattern);
  }

  cost(): PatternCost {
    while (this.#at < this.#pattern.length) this.#next();
    while (this.#open.length > 1) this.#close();
    const instructions = this.#total();
    return { instructions, compiling: this.#compiling + instructions * INSTRUCTION_COST };
  }

  #next(): void {
    const repetition = this.#take(REPETITION);
    if (repetition) return this.#repeat(repetition);
    if (this.#take(FLAGS)) return;
    const quoted = this.#take(QUOTED);
    if (quoted) return this.#quote(quoted);
    if (this.#takeCategory() || this.#take(ESCAPED)) return this.#atom(1);
    const character = this.#pattern[this.#at];
    this.#at += 1;
    if (character === '(') this.#open.push({ before: 0, atom: 0 });
    else if (character === ')') this.#close();
    else if (character === '[') this.#class();
    else if (character !== undefined && '?*+'.includes(character)) this.#last().atom += 2;
    else this.#atom(1);
  }

  #take(what: RegExp): RegExpExecArray | undefined {
    what.lastIndex = this.#at;
    const found = what.exec(this.#pattern);
    if (found) this.#at = what.lastIndex;
    return found ?? undefined;
  }

  #takeCategory(): boolean {
    const found = this.#take(CATEGORY);
    if (found) this.#compiling += CATEGORY_COST;
    return found !== undefined;
  }

  #last(): { before: number; atom: number } {
    return this.#open.at(-1) ?? { before: 0, atom: 0 };
  }

  #total(): number {
    const { before, atom } = this.#last();
    return before + atom;
  }

  #atom(instructions: number): void {
    const last = this.#last();
    last.before += last.atom;
    last.atom = instructions;
  }

  #quote([, text = '']: RegExpExecArray): void {
    for (let index = 0; index < text.length; index += 1) this.#atom(1);
  }

  /** Where it closes nothing, RE2 refuses the pattern. */
  #close(): void {
    if (this.#open.length === 1) return;
    const inside = this.#total();
    this.#open.pop();
    this.#atom(inside + 3);
  }

  /** `x{2,4}` is `xx(x(x)?)?`. */
  #repeat([, least = '', most]: RegExpExecArray): void {
    const times = most === undefined || most === '' ? Number(least) : Math.max(Number(least), Number(most));
    const last = this.#last();
    last.atom = Math.max(1, times) * (last.atom + 1);
  }

  /** From behind its bracket to its end. */
  #class(): void {
    if (this.#pattern[this.#at] === '^') this.#at += 1;
    let previous: number | undefined;
    for (let isFirst = true; this.#at < this.#pattern.length; isFirst = false) {
      if (this.#pattern[this.#at] === ']' && !isFirst) break;
      const isRange = this.#pattern[this.#at] === '-' && previous !== undefined && !isFirst;
      if (isRange) this.#at += 1;
      const member = this.#member();
      if (isRange) this.#payForRange(previous, member);
      previous = isRange ? undefined : member;
    }
    this.#at += 1;
    this.#atom(1);
  }

  /** One character of a class; undefined for several, `Infinity` for one that is written as a number. */
  #member(): number | undefined {
    if (this.#take(CLASS_NAME) || this.#takeCategory()) return undefined;
    if (this.#take(ESCAPED)) return Infinity;
    const code = this.#pattern.codePointAt(this.#at);
    this.#at += code !== undefined && code > 0xff_ff ? 2 : 1;
    return code;
  }

  #payForRange(from = 0, to = Infinity): void {
    if (!this.#ignoresCase) return;
    const first = Number.isFinite(from) ? from : 0;
    this.#compiling += Math.max(0, Math.min(to, LAST_FOLDED) - first) / FOLDED_UNIT;
  }
}
