/** Called once: whether the line was written. */
export type TellWritten = (isWritten: boolean) => void;

interface Awaited {
  /** Place behind the line. */
  readonly end: number;
  readonly tell: TellWritten;
}

const LINE_FEED = 0x0a;

/**
 * Lines that wait to be written, one behind the other, as the bytes that are written: what waits is one object for the
 * garbage collector, however many lines it has. Lines are ASCII.
 */
export class LineBuffer {
  readonly #bytes: Buffer;
  #start = 0;
  #end = 0;
  #lines = 0;
  #awaited: Awaited[] = [];

  /** `size`: at least the length of the first line with its end. */
  constructor(size: number) {
    this.#bytes = Buffer.allocUnsafeSlow(size);
  }

  get size(): number {
    return this.#bytes.length;
  }

  /** Lines that wait. */
  get lines(): number {
    return this.#lines;
  }

  get isAwaited(): boolean {
    return this.#awaited.length > 0;
  }

  /** The first lines that wait, so many at most; those that are added later are not among them. */
  waiting(most: number): Buffer {
    const all = this.#bytes.subarray(this.#start, this.#end);
    if (this.#lines <= most) return all;
    let end = 0;
    for (let left = most; left > 0; left -= 1) end = all.indexOf(LINE_FEED, end) + 1;
    return all.subarray(0, end);
  }

  /** False: there is no room for the line. */
  add(line: string, tell: TellWritten | undefined): boolean {
    if (this.#end + line.length + 1 > this.#bytes.length) return false;
    this.#end += this.#bytes.write(line, this.#end, 'latin1');
    this.#bytes[this.#end] = LINE_FEED;
    this.#end += 1;
    this.#lines += 1;
    if (tell) this.#awaited.push({ end: this.#end, tell });
    return true;
  }

  /** So many bytes were written; returns how many whole lines and bytes of them that makes. What is not whole stays. */
  written(bytes: number): { readonly lines: number; readonly bytes: number } {
    const whole = this.#bytes.subarray(this.#start, this.#start + bytes);
    const end = whole.lastIndexOf(LINE_FEED) + 1;
    let lines = 0;
    for (let at = 0; at < end; at = whole.indexOf(LINE_FEED, at) + 1) lines += 1;
    this.#start += end;
    this.#lines -= lines;
    while (this.#awaited[0] && this.#awaited[0].end <= this.#start) this.#awaited.shift()?.tell(true);
    if (this.#start === this.#end) [this.#start, this.#end] = [0, 0];
    return { lines, bytes: end };
  }

  /** Tells those who wait for a line that it is not written now; the lines stay. */
  disappoint(): void {
    for (const { tell } of this.#awaited.splice(0)) tell(false);
  }
}
