import {
  isArray,
  isObject,
  isString,
  JsonSyntaxError,
  readArray,
  readObject,
  readString,
  skipSpace,
  skipValue,
} from '../../json/index.ts';
import { asciiJson, jsonText } from './json-text.ts';
import { REDACTED, redactedText, type Secrecy } from './redaction.ts';

/** Request or response data of an event. */
export interface KeptData {
  /** JSON text: the data itself where they are whole, else a string with the beginning of their JSON text. */
  readonly json: string;
  readonly isCut: boolean;
}

export interface KeepOptions {
  readonly maxBytes: number;
  readonly secrecyOf: (key: string) => Secrecy;
}

/** Thrown where the kept text has its full length. */
class FullError extends Error {}

/** Nested values are left out from this depth on. */
const MAX_DEPTH = 64;

/** Bytes that are read beyond those that can be kept, since secrets are shortened. */
const SLACK_BYTES = 16 * 1024;

/**
 * The beginning of the JSON text `body`, without secrets, up to `maxBytes` of UTF-8. Reads a bounded part of the body;
 * what cannot be read as JSON is left out, with all that follows.
 */
export const keptData = (body: Buffer, options: KeepOptions): KeptData => {
  const keeper = new Keeper(body.subarray(0, 4 * options.maxBytes + SLACK_BYTES), options);
  const isWhole = keeper.keep() && Buffer.byteLength(keeper.text) <= options.maxBytes;
  if (isWhole) return { json: asciiJson(keeper.text), isCut: false };
  return { json: jsonText(cutText(keeper.text, options.maxBytes)), isCut: true };
};

/** At most `maxBytes` of UTF-8, no character in halves. */
const cutText = (text: string, maxBytes: number): string => {
  const bytes = Buffer.from(text);
  let end = Math.min(maxBytes, bytes.length);
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
};

/** Copies a JSON text, value by value. */
class Keeper {
  text = '';
  readonly #bytes: Buffer;
  readonly #options: KeepOptions;

  constructor(bytes: Buffer, options: KeepOptions) {
    this.#bytes = bytes;
    this.#options = options;
  }

  /** Whether the text is complete. */
  keep(): boolean {
    try {
      this.#value(skipSpace(this.#bytes, 0), 0);
      return true;
    } catch (error) {
      if (error instanceof FullError || error instanceof JsonSyntaxError) return false;
      throw error;
    }
  }

  /** Characters are counted, of which each is a byte at least: enough to stop in time. */
  #add(piece: string): void {
    this.text += piece;
    if (this.text.length > this.#options.maxBytes) throw new FullError();
  }

  #value(at: number, depth: number): number {
    if (depth > MAX_DEPTH) throw new FullError();
    if (isObject(this.#bytes, at)) return this.#object(at, depth);
    if (isArray(this.#bytes, at)) return this.#array(at, depth);
    if (isString(this.#bytes, { start: at, end: at })) return this.#string(at);
    const end = skipValue(this.#bytes, at);
    this.#add(this.#bytes.toString('latin1', at, end));
    return end;
  }

  #object(at: number, depth: number): number {
    let separator = '{';
    const end = readObject(this.#bytes, at, (key, valueAt) => {
      this.#add(`${separator}${JSON.stringify(redactedText(key))}:`);
      separator = ',';
      if (!this.#isSecret(key, valueAt)) return this.#value(valueAt, depth + 1);
      this.#add(`"${REDACTED}"`);
      return skipValue(this.#bytes, valueAt);
    });
    this.#add(separator === '{' ? '{}' : '}');
    return end;
  }

  #isSecret(key: string, valueAt: number): boolean {
    const secrecy = this.#options.secrecyOf(key);
    if (secrecy !== 'secret-unless-number') return secrecy === 'secret';
    const isText = isString(this.#bytes, { start: valueAt, end: valueAt });
    return isText || isObject(this.#bytes, valueAt) || isArray(this.#bytes, valueAt);
  }

  #array(at: number, depth: number): number {
    let separator = '[';
    const end = readArray(this.#bytes, at, (itemAt) => {
      this.#add(separator);
      separator = ',';
      return this.#value(itemAt, depth + 1);
    });
    this.#add(separator === '[' ? '[]' : ']');
    return end;
  }

  #string(at: number): number {
    let end: number;
    try {
      end = skipValue(this.#bytes, at);
    } catch (error) {
      this.#add(JSON.stringify(redactedText(this.#openString(at))).slice(0, -1));
      throw error;
    }
    this.#add(JSON.stringify(redactedText(readString(this.#bytes, { start: at, end }))));
    return end;
  }

  /** The beginning of a string that does not end within the bytes, without what may be half an escape or character. */
  #openString(at: number): string {
    const text = this.#bytes
      .toString('utf8', at + 1)
      .replace(/\\[^\\]{0,5}$/, '')
      .replace(/\ufffd+$/, '');
    try {
      return JSON.parse(`"${text}"`) as string;
    } catch {
      return '';
    }
  }
}
