import { isEmptyObject, isObject, skipSpace, skipValue, walkObject, type Span } from './bytes.ts';
import { isText } from './text.ts';

/** Tests a key; `keyAt` is the position of its opening quote. */
export type KeyTest = (bytes: Buffer, keyAt: number) => boolean;

/** The value of a member of the object at `at`; the last one, where a key is given twice. `name` is ASCII. */
export const memberAt = (bytes: Buffer, at: number, name: string): Span | undefined => {
  let start = -1;
  let end = -1;
  walkObject(bytes, at, (keyAt, _keyEnd, valueAt) => {
    const valueEnd = skipValue(bytes, valueAt);
    if (isText(bytes, keyAt, name)) {
      start = valueAt;
      end = valueEnd;
    }
    return valueEnd;
  });
  return start === -1 ? undefined : { start, end };
};

/** Longest text that is parsed into a value, which may be many times as large in memory. */
export const SMALL_BYTES = 256 * 1024;

/**
 * The parsed value of a member of the object at `at`. Undefined where there is no object or no such member, or its text
 * is longer than SMALL_BYTES.
 */
export const smallMember = (bytes: Buffer, at: number, name: string): unknown => {
  const span = isObject(bytes, at) ? memberAt(bytes, at, name) : undefined;
  if (!span || span.end - span.start > SMALL_BYTES) return undefined;
  return JSON.parse(bytes.toString('utf8', span.start, span.end));
};

/** The object that `bytes` are, with members (JSON text each) before its own, which stay as they are written. */
export const withMembers = (bytes: Buffer, added: readonly string[]): Buffer => {
  if (added.length === 0) return bytes;
  return Buffer.concat([Buffer.from(`{${added.join(',')}${isEmptyObject(bytes, 0) ? '' : ','}`), bytes.subarray(1)]);
};

/**
 * The object that `bytes` are, without some members; the others, and the white space around them, stay as they are
 * written.
 */
export const withoutMembers = (bytes: Buffer, isDropped: KeyTest): Buffer => {
  const kept = new Kept(bytes);
  let droppedFrom = -1;
  let keptEnd = -1;
  let lastEnd = -1;
  walkObject(bytes, 0, (keyAt, _keyEnd, valueAt) => {
    lastEnd = skipValue(bytes, valueAt);
    if (!isDropped(bytes, keyAt)) {
      if (droppedFrom !== -1) kept.leaveOut(droppedFrom, keyAt);
      droppedFrom = -1;
      keptEnd = lastEnd;
    } else if (droppedFrom === -1) droppedFrom = keyAt;
    return lastEnd;
  });
  // Members dropped at the end take the comma before them along.
  if (droppedFrom !== -1) kept.leaveOut(keptEnd === -1 ? droppedFrom : keptEnd, lastEnd);
  return kept.end();
};

/** Builds a text without some of its pieces. */
class Kept {
  readonly #bytes: Buffer;
  #out: Buffer | undefined;
  #length = 0;
  #from = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  leaveOut(start: number, end: number): void {
    this.#out ??= Buffer.allocUnsafe(this.#bytes.length);
    this.#length += this.#bytes.copy(this.#out, this.#length, this.#from, start);
    this.#from = end;
  }

  end(): Buffer {
    if (!this.#out) return this.#bytes;
    this.leaveOut(this.#bytes.length, this.#bytes.length);
    return this.#out.subarray(0, this.#length);
  }
}

/** The value of one member replaced, where it is there. */
export const replacedMember = (bytes: Buffer, name: string, replace: (value: Buffer) => Buffer): Buffer => {
  const value = memberAt(bytes, skipSpace(bytes, 0), name);
  if (!value) return bytes;
  const text = replace(bytes.subarray(value.start, value.end));
  return Buffer.concat([bytes.subarray(0, value.start), text, bytes.subarray(value.end)]);
};
