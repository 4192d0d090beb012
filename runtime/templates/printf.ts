import { type Budget, tooLong } from './budget.ts';
import { type Flags, NO_FLAGS, format } from './printing.ts';
import { Int, type Value, typeName } from './values.ts';

/** Widths and precisions beyond this are no widths to Go. */
const MAX_WIDTH = 1_000_000;

/**
 * `printf`: https://pkg.go.dev/fmt "Printing". Wrong verbs and missing arguments are no errors, but are shown in the
 * text, as `%!d(string=a)`.
 */
export const formatted = (pattern: string, args: readonly Value[], budget: Budget): string =>
  new Formatter(pattern, args, budget).run();

class Formatter {
  readonly #pattern: string;
  readonly #args: readonly Value[];
  readonly #budget: Budget;
  #at = 0;
  #arg = 0;
  /** Whether an argument was named by its number, as in `%[2]d`; then not all of them need to be used. */
  #isReordered = false;
  /** Of the verb at hand: whether the number that was named exists. */
  #isArgumentKnown = true;

  constructor(pattern: string, args: readonly Value[], budget: Budget) {
    this.#pattern = pattern;
    this.#args = args;
    this.#budget = budget;
  }

  run(): string {
    let text = '';
    this.#budget.spendOnText(this.#pattern.length);
    while (this.#at < this.#pattern.length) {
      const percent = this.#pattern.indexOf('%', this.#at);
      const end = percent < 0 ? this.#pattern.length : percent;
      text += this.#pattern.slice(this.#at, end);
      this.#at = end + 1;
      if (percent >= 0) text += this.#verb();
      if (text.length > this.#budget.maxOutputBytes) throw tooLong(this.#budget.maxOutputBytes);
    }
    return text + this.#extra();
  }

  #verb(): string {
    this.#isArgumentKnown = true;
    const marks = this.#marks();
    let isNumbered = this.#argumentNumber();
    const width = this.#width(isNumbered);
    if (width.isTaken) isNumbered = false;
    const precision = this.#precision(isNumbered);
    if (precision.isTaken ? !precision.isNumbered : !isNumbered) this.#argumentNumber();
    const complaints = width.complaint + precision.complaint;
    if (this.#at >= this.#pattern.length) return `${complaints}%!(NOVERB)`;
    const verb = String.fromCodePoint(this.#pattern.codePointAt(this.#at) ?? 0);
    this.#at += verb.length;
    const isLeft = marks.has('-') || width.isNegative;
    return (
      complaints +
      this.#argument(verb, { ...flagsOf(marks, verb, isLeft), width: width.value, precision: precision.value })
    );
  }

  #argument(verb: string, flags: Flags): string {
    if (verb === '%') return '%';
    if (!this.#isArgumentKnown) return `%!${verb}(BADINDEX)`;
    if (this.#arg >= this.#args.length) return `%!${verb}(MISSING)`;
    const value = this.#args[this.#arg];
    this.#arg += 1;
    return format(value, verb, flags, this.#budget);
  }

  #marks(): ReadonlySet<string> {
    const from = this.#at;
    while ('#0+- '.includes(this.#pattern.charAt(this.#at)) && this.#at < this.#pattern.length) this.#at += 1;
    return new Set(this.#pattern.slice(from, this.#at));
  }

  /** `[3]`; whether there was one. */
  #argumentNumber(): boolean {
    if (this.#pattern.charAt(this.#at) !== '[') return false;
    this.#isReordered = true;
    const end = this.#pattern.indexOf(']', this.#at);
    const inside = end < 0 ? '' : this.#pattern.slice(this.#at + 1, end);
    this.#at = end < 0 ? this.#at + 1 : end + 1;
    const isNumber = /^\d{1,7}$/.test(inside) && Number(inside) <= 10 * MAX_WIDTH;
    const index = Number(inside) - 1;
    if (isNumber && index >= 0 && index < this.#args.length) this.#arg = index;
    else this.#isArgumentKnown = false;
    return isNumber;
  }

  #width(isNumbered: boolean) {
    if (this.#pattern.charAt(this.#at) === '*') {
      this.#at += 1;
      const value = this.#argumentAsWidth();
      const complaint = value === undefined ? '%!(BADWIDTH)' : '';
      const isNegative = value !== undefined && value < 0;
      return { value: value === undefined ? undefined : Math.abs(value), isNegative, complaint, isTaken: true };
    }
    const value = this.#number();
    if (isNumbered && value !== undefined) this.#isArgumentKnown = false;
    return { value, isNegative: false, complaint: '', isTaken: false };
  }

  #precision(isNumbered: boolean) {
    if (this.#pattern.charAt(this.#at) !== '.' || this.#at + 1 >= this.#pattern.length)
      return { value: undefined, complaint: '', isTaken: false, isNumbered: false };
    this.#at += 1;
    if (isNumbered) this.#isArgumentKnown = false;
    const isOwnNumbered = this.#argumentNumber();
    if (this.#pattern.charAt(this.#at) !== '*')
      return { value: this.#number() ?? 0, complaint: '', isTaken: true, isNumbered: isOwnNumbered };
    this.#at += 1;
    const value = this.#argumentAsWidth();
    const isUsable = value !== undefined && value >= 0;
    return {
      value: isUsable ? value : undefined,
      complaint: isUsable ? '' : '%!(BADPREC)',
      isTaken: true,
      isNumbered: false,
    };
  }

  #argumentAsWidth(): number | undefined {
    if (this.#arg >= this.#args.length) return undefined;
    const value = this.#args[this.#arg];
    this.#arg += 1;
    const width = value instanceof Int ? Number(value.value) : undefined;
    return width !== undefined && Math.abs(width) <= MAX_WIDTH ? width : undefined;
  }

  #number(): number | undefined {
    let value: number | undefined;
    for (let digit = this.#digit(); digit !== undefined; digit = this.#digit()) {
      if ((value ?? 0) > MAX_WIDTH) {
        this.#at = this.#pattern.length;
        return undefined;
      }
      value = (value ?? 0) * 10 + digit;
      this.#at += 1;
    }
    return value;
  }

  #digit(): number | undefined {
    const character = this.#pattern.charAt(this.#at);
    return character >= '0' && character <= '9' ? Number(character) : undefined;
  }

  #extra(): string {
    if (this.#isReordered || this.#arg >= this.#args.length) return '';
    const rest = this.#args.slice(this.#arg).map((value) => {
      const isNothing = value === undefined || value === null;
      return isNothing ? '<nil>' : `${typeName(value)}=${format(value, 'v', NO_FLAGS, this.#budget)}`;
    });
    return `%!(EXTRA ${rest.join(', ')})`;
  }
}

const flagsOf = (marks: ReadonlySet<string>, verb: string, isLeft: boolean): Flags => {
  const isGeneral = verb === 'v' || verb === 'w';
  return {
    plus: marks.has('+') && !isGeneral,
    minus: isLeft,
    sharp: marks.has('#') && !isGeneral,
    space: marks.has(' '),
    zero: marks.has('0'),
    isGoSyntax: marks.has('#') && isGeneral,
  };
};
