import type { Budget } from './budget.ts';
import { isPrintable, quotedCharacter, quotedText } from './escapes.ts';
import { formatFloat } from './floats.ts';
import { Int, type Value, checkDepth, isList, isMap, keysInOrder, memberOf, typeName, valueOf } from './values.ts';

/** What stands between `%` and the verb. */
export interface Flags {
  readonly plus: boolean;
  readonly minus: boolean;
  readonly sharp: boolean;
  readonly space: boolean;
  readonly zero: boolean;
  readonly width?: number | undefined;
  readonly precision?: number | undefined;
  /** `%#v` */
  readonly isGoSyntax: boolean;
}

export const NO_FLAGS: Flags = {
  plus: false,
  minus: false,
  sharp: false,
  space: false,
  zero: false,
  isGoSyntax: false,
};

/** The value as Go's fmt prints it with this verb: https://pkg.go.dev/fmt "Printing". */
export const format = (value: Value, verb: string, flags: Flags, budget: Budget): string =>
  new Printer(flags, budget).print(value, verb, 0);

/** `%v` */
export const printed = (value: Value, budget: Budget): string => {
  if (typeof value !== 'string') return format(value, 'v', NO_FLAGS, budget);
  budget.spendOnText(value.length);
  return value;
};

class Printer {
  readonly #flags: Flags;
  readonly #budget: Budget;

  constructor(flags: Flags, budget: Budget) {
    this.#flags = flags;
    this.#budget = budget;
  }

  print(value: Value, verb: string, depth: number): string {
    checkDepth(depth);
    const text = this.#textOf(value, verb, depth);
    if (!isList(value) && !isMap(value)) this.#budget.spendOnText(text.length);
    return text;
  }

  #textOf(value: Value, verb: string, depth: number): string {
    if (value === undefined || value === null) return this.#nothing(verb, depth);
    if (verb === 'T') return this.#padded(this.#cut(typeName(value)));
    if (typeof value === 'boolean')
      return verb === 't' || verb === 'v' ? this.#padded(String(value)) : this.#bad(value, verb);
    if (typeof value === 'string') return this.#string(value, verb);
    if (value instanceof Int) return this.#integer(value.value, verb) ?? this.#bad(value, verb);
    if (typeof value === 'number') return this.#number(value, verb);
    return isList(value) ? this.#list(value, verb, depth) : this.#map(value, verb, depth);
  }

  #nothing(verb: string, depth: number): string {
    if (depth > 0) return this.#flags.isGoSyntax ? 'interface {}(nil)' : '<nil>';
    return verb === 'v' || verb === 'T' ? this.#padded('<nil>') : `%!${verb}(<nil>)`;
  }

  #bad(value: Value, verb: string): string {
    return `%!${verb}(${typeName(value)}=${this.print(value, 'v', 0)})`;
  }

  #list(list: readonly unknown[], verb: string, depth: number): string {
    this.#budget.spend(list.length);
    const { isGoSyntax } = this.#flags;
    const items = list.map((item) => this.print(valueOf(item), verb, depth + 1));
    return isGoSyntax ? `${typeName(list)}{${items.join(', ')}}` : `[${items.join(' ')}]`;
  }

  #map(map: Readonly<Record<string, unknown>>, verb: string, depth: number): string {
    const keys = keysInOrder(map, this.#budget);
    const { isGoSyntax } = this.#flags;
    const members = keys.map((key) => {
      const name = this.print(key, verb, depth + 1);
      return `${name}:${this.print(memberOf(map, key), verb, depth + 1)}`;
    });
    return isGoSyntax ? `${typeName(map)}{${members.join(', ')}}` : `map[${members.join(' ')}]`;
  }

  #string(text: string, verb: string): string {
    if (verb === 's' || (verb === 'v' && !this.#flags.isGoSyntax)) return this.#padded(this.#cut(text));
    if (verb === 'q' || verb === 'v') {
      const shown = this.#cut(text);
      this.#budget.spendOnText(shown.length);
      if (verb === 'q' && this.#flags.sharp && CAN_BACKQUOTE.test(shown)) return this.#padded(`\`${shown}\``);
      return this.#padded(quotedText(shown, { isAscii: verb === 'q' && this.#flags.plus }));
    }
    return verb === 'x' || verb === 'X' ? this.#hex(text, verb) : this.#bad(text, verb);
  }

  #hex(text: string, verb: 'x' | 'X'): string {
    this.#budget.spendOnText(text.length);
    const { precision, sharp, space } = this.#flags;
    const bytes = Buffer.from(text).subarray(0, precision);
    if (bytes.length === 0) return this.#padded('');
    this.#budget.spendOnText(5 * bytes.length);
    const prefix = sharp ? '0x' : '';
    const digits = bytes.toString('hex');
    const spread = space ? (digits.match(/../g) ?? []).join(` ${prefix}`) : digits;
    const shown = prefix + spread;
    return this.#padded(verb === 'X' ? shown.toUpperCase() : shown);
  }

  /** Whole numbers of the data have digits to any base, which Go refuses. */
  #number(value: number, verb: string): string {
    switch (verb) {
      case 'v':
        return this.#float(value, 'g');
      case 'e':
      case 'E':
      case 'f':
      case 'F':
        return this.#float(value, verb, this.#flags.precision ?? 6);
      case 'g':
      case 'G':
        return this.#float(value, verb);
      default: {
        const base = BASES[verb];
        return base !== undefined && Number.isInteger(value)
          ? this.#digits(BigInt(value), base, verb)
          : this.#bad(value, verb);
      }
    }
  }

  #float(value: number, verb: string, precision = this.#flags.precision): string {
    const { plus, space, sharp, zero, minus, width = 0 } = this.#flags;
    const isNegative = value < 0 || Object.is(value, -0);
    const sign = isNegative ? '-' : plus ? '+' : space ? ' ' : '';
    if (!Number.isFinite(value)) {
      const shown = Number.isNaN(value) ? `${plus ? '+' : space ? ' ' : ''}NaN` : `${sign || '+'}Inf`;
      return this.#padded(shown, ' ');
    }
    this.#budget.spendOnText(precision ?? 0);
    const kind = verb.toLowerCase() as 'e' | 'f' | 'g';
    const plain = formatFloat(value, kind, precision);
    const pointed = sharp ? withPoint(plain, kind === 'g' ? (precision ?? 6) : 0) : plain;
    const digits = verb === 'E' || verb === 'G' ? pointed.toUpperCase() : pointed;
    if (sign === '' || !zero || minus) return this.#padded(sign + digits);
    this.#budget.spendOnText(width);
    return sign + digits.padStart(width - 1, '0');
  }

  #integer(value: bigint, verb: string): string | undefined {
    const base = BASES[verb];
    if (base !== undefined) return this.#digits(value, base, verb);
    const point = BigInt.asUintN(64, value);
    const character = point <= 0x10ffffn && !isSurrogate(point) ? String.fromCodePoint(Number(point)) : '\ufffd';
    if (verb === 'c') return this.#padded(character);
    if (verb === 'q') return this.#padded(quotedCharacter(character, { isAscii: this.#flags.plus }));
    return verb === 'U' ? this.#unicode(point, character) : undefined;
  }

  #digits(value: bigint, base: number, verb: string): string {
    const { plus, minus, space, sharp, zero, width, precision } = this.#flags;
    const sign = value < 0n ? '-' : plus ? '+' : space ? ' ' : '';
    if (precision === 0 && value === 0n) return this.#padded('', ' ');
    const zeros = precision ?? (zero && !minus && width !== undefined ? width - sign.length : 0);
    this.#budget.spendOnText(zeros);
    const digits = (value < 0n ? -value : value).toString(base).padStart(zeros, '0');
    const prefix = verb === 'O' ? '0o' : sharp ? prefixOf(base, digits) : '';
    const shown = verb === 'X' ? (prefix + digits).toUpperCase() : prefix + digits;
    return this.#padded(sign + shown, ' ');
  }

  #unicode(point: bigint, character: string): string {
    const { precision = 0, sharp } = this.#flags;
    this.#budget.spendOnText(precision);
    const digits = point.toString(16).toUpperCase().padStart(Math.max(precision, 4), '0');
    const shown = sharp && point <= 0x10ffffn && isPrintable(character) ? ` '${character}'` : '';
    return this.#padded(`U+${digits}${shown}`, ' ');
  }

  /** A precision is a number of characters for texts. */
  #cut(text: string): string {
    const { precision } = this.#flags;
    if (precision === undefined || text.length <= precision) return text;
    this.#budget.spendOnText(precision);
    // A character has at most two units, and a text of the data may have many more characters.
    return characters(text.slice(0, 2 * precision))
      .slice(0, precision)
      .join('');
  }

  #padded(text: string, padding = this.#flags.zero && !this.#flags.minus ? '0' : ' '): string {
    const { width = 0, minus } = this.#flags;
    if (width === 0) return text;
    this.#budget.spendOnText(text.length + width);
    const missing = padding.repeat(Math.max(width - characters(text).length, 0));
    return minus ? text + missing : missing + text;
  }
}

const BASES: Readonly<Record<string, number>> = { v: 10, d: 10, b: 2, o: 8, O: 8, x: 16, X: 16 };

// oxlint-disable-next-line no-control-regex -- Go's literals in backquotes hold no control characters.
const CAN_BACKQUOTE = /^[^\u0000-\u0008\u000a-\u001f\u007f`\ufeff]*$/;

const prefixOf = (base: number, digits: string): string => {
  if (base === 8) return digits.startsWith('0') ? '' : '0';
  return base === 2 ? '0b' : base === 16 ? '0x' : '';
};

const isSurrogate = (point: bigint): boolean => point >= 0xd800n && point < 0xe000n;

const characters = (text: string): readonly string[] => Array.from(text);

/** `#` keeps the decimal point, and with `g` the zeros that make up the precision. */
const withPoint = (text: string, significant: number): string => {
  const [mantissa = '', exponent] = text.split('e');
  const pointed = mantissa.includes('.') ? mantissa : `${mantissa}.`;
  const digits = pointed.replace('.', '').replace(/^0+(?=.)/, '');
  const counted = mantissa === '0' ? 1 : digits.length;
  const zeros = '0'.repeat(Math.max(significant - counted, 0));
  return pointed + zeros + (exponent === undefined ? '' : `e${exponent}`);
};
