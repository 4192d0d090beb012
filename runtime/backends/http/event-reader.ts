import { GrowableBuffer } from '../../http/index.ts';

/** A backend sent more than one response, or one event, may hold. */
export class ResponseTooLargeError extends Error {
  override readonly name = 'ResponseTooLargeError';
}

const LF = 0x0a;
const CR = 0x0d;

/**
 * Reads server-sent events as they arrive (HTML, "9.2.6 Interpreting an event stream"). MCP's messages are `message`
 * events.
 */
export class EventReader {
  readonly #maxBytes: number;
  readonly #onMessage: (data: Buffer) => void;
  readonly #onOther: ((type: string, data: Buffer) => void) | undefined;
  /** A line whose end has not come yet. */
  readonly #partial = new GrowableBuffer();
  /** The event's data lines so far. Most events have one. */
  #data: Buffer | undefined;
  readonly #moreData = new GrowableBuffer();
  #bytes = 0;
  #type: Buffer = messageEvent;
  #skipLf = false;

  /** `maxBytes` bounds one event with its unfinished line; a longer one throws ResponseTooLargeError from `push`. */
  constructor(maxBytes: number, onMessage: (data: Buffer) => void, onOther?: (type: string, data: Buffer) => void) {
    this.#maxBytes = maxBytes;
    this.#onMessage = onMessage;
    this.#onOther = onOther;
  }

  /** Bytes of the event that is not complete yet. */
  get heldBytes(): number {
    return this.#bytes;
  }

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#skipLf && chunk[at] === LF) at += 1;
      this.#skipLf = false;
      const end = lineEnd(chunk, at);
      if (end < 0) return this.#keep(chunk.subarray(at));
      this.#skipLf = chunk[end] === CR;
      this.#line(this.#complete(chunk.subarray(at, end)));
      at = end + 1;
    }
  }

  #keep(part: Buffer): void {
    this.#count(part.length);
    this.#partial.append(part);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#maxBytes) throw new ResponseTooLargeError('event too large');
  }

  #complete(end: Buffer): Buffer {
    this.#count(end.length + 1);
    if (this.#partial.length === 0) return end;
    this.#partial.append(end);
    return this.#partial.take();
  }

  #line(line: Buffer): void {
    if (line.length === 0) return this.#dispatch();
    const colon = line.indexOf(0x3a);
    const nameEnd = colon < 0 ? line.length : colon;
    if (nameEnd > LONGEST_FIELD_NAME) return;
    const field = line.toString('latin1', 0, nameEnd);
    const value =
      colon < 0 ? line.subarray(line.length) : line.subarray(line[colon + 1] === 0x20 ? colon + 2 : colon + 1);
    if (field === 'data') this.#addData(value);
    if (field === 'event') this.#type = value.length === 0 ? messageEvent : value;
  }

  #addData(value: Buffer): void {
    if (!this.#data) {
      this.#data = value;
      return;
    }
    if (this.#moreData.length === 0) this.#moreData.append(this.#data);
    this.#moreData.append(lineFeed);
    this.#moreData.append(value);
  }

  #dispatch(): void {
    const data = this.#moreData.length > 0 ? this.#moreData.take() : this.#data;
    const type = this.#type;
    this.#data = undefined;
    this.#bytes = 0;
    this.#type = messageEvent;
    if (!data || data.length === 0) return;
    if (type.equals(messageEvent)) this.#onMessage(data);
    else this.#onOther?.(type.toString(), data);
  }
}

const LONGEST_FIELD_NAME = 'event'.length;
const messageEvent = Buffer.from('message');
const lineFeed = Buffer.from('\n');

const lineEnd = (chunk: Buffer, from: number): number => {
  const lf = chunk.indexOf(LF, from);
  // A lone CR ends a line too; inside JSON neither byte occurs, so the search is short.
  const cr = chunk.subarray(from, lf < 0 ? chunk.length : lf).indexOf(CR);
  return cr < 0 ? lf : from + cr;
};
