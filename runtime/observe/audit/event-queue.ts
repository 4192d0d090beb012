import type { Clock, Timer } from '../../process/index.ts';
import type { Destination } from './destination.ts';
import { LineBuffer, type TellWritten } from './line-buffer.ts';

export interface QueueBounds {
  /** Most lines that wait. */
  readonly lines: number;
  readonly bytes: number;
  /** Most lines of one write. */
  readonly batchLines: number;
  /** Longest time that a line waits for others. */
  readonly batchWaitMs: number;
}

export interface QueueDeps {
  readonly destination: Destination;
  readonly clock: Clock;
  /** A line was dropped, since the queue is full. */
  readonly onDropped: () => void;
  readonly onWritten: (lines: number) => void;
  /** Lines cannot be written; they are kept, and tried again. */
  readonly onError: (error: unknown) => void;
}

/** Wait before lines that could not be written are tried again. */
const RETRY_MS = 1_000;

/**
 * Longest wait for a line to be written. A line that takes longer counts as not written for the one who waits, and
 * stays in the queue.
 */
const CONFIRM_MS = 10_000;

/** Bytes of buffers that are kept to be used again. */
const SPARE_BYTES = 256 * 1024;

/** Lines on their way to one destination, in order, one write at a time. Lines are ASCII, without their end. */
export class EventQueue {
  readonly #bounds: QueueBounds;
  readonly #deps: QueueDeps;
  /** Oldest first; each write is from one of them. The last one takes new lines. */
  readonly #buffers: LineBuffer[] = [];
  readonly #spare: LineBuffer[] = [];
  #lines = 0;
  #bytes = 0;
  #timer: Timer | undefined;
  #writing: Promise<void> | undefined;
  #isClosing = false;

  constructor(bounds: QueueBounds, deps: QueueDeps) {
    this.#bounds = bounds;
    this.#deps = deps;
  }

  /** What waits to be written. */
  get waiting(): { readonly events: number; readonly bytes: number } {
    return { events: this.#lines, bytes: this.#bytes };
  }

  /** Adds a line, to be written with others soon. */
  add(line: string): void {
    if (!this.#take(line, undefined)) return;
    if (this.#isBatch()) this.#write();
    else this.#writeSoon(this.#bounds.batchWaitMs);
  }

  /** Adds a line and resolves with whether it was written, at most `CONFIRM_MS` later. */
  confirm(line: string): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = this.#deps.clock.after(CONFIRM_MS, () => resolve(false));
      const told = (isWritten: boolean): void => {
        timer.cancel();
        resolve(isWritten);
      };
      if (this.#take(line, told)) this.#write();
      else told(false);
    });
  }

  /** Writes what waits, as far as that can be written, and closes the destination. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#timer?.cancel();
    this.#write();
    while (this.#writing) await this.#writing;
    this.#timer?.cancel();
    for (const buffer of this.#buffers.splice(0)) {
      buffer.disappoint();
      for (let left = buffer.lines; left > 0; left -= 1) this.#deps.onDropped();
    }
    await this.#deps.destination.close();
  }

  /** False: there is no room. One line always has room, however long it is. */
  #take(line: string, told: TellWritten | undefined): boolean {
    const bytes = line.length + 1;
    const isFull = this.#lines >= this.#bounds.lines || this.#bytes + bytes > this.#bounds.bytes;
    if (isFull && this.#lines > 0) {
      this.#deps.onDropped();
      return false;
    }
    if (!this.#buffers.at(-1)?.add(line, told)) this.#takeApart(line, told);
    this.#lines += 1;
    this.#bytes += bytes;
    return true;
  }

  #takeApart(line: string, told: TellWritten | undefined): void {
    const { writeBytes } = this.#deps.destination;
    const bytes = line.length + 1;
    const spare = bytes <= writeBytes ? this.#spare.pop() : undefined;
    const buffer = spare ?? new LineBuffer(Math.max(writeBytes, bytes));
    buffer.add(line, told);
    this.#buffers.push(buffer);
  }

  /** Whether what waits is worth a write. */
  #isBatch(): boolean {
    return this.#lines >= this.#bounds.batchLines || (this.#isClosing && this.#lines > 0);
  }

  #writeSoon(ms: number): void {
    if (this.#writing || this.#timer) return;
    this.#timer = this.#deps.clock.after(ms, () => this.#write());
  }

  #write(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#writing || this.#lines === 0) return;
    this.#writing = this.#writeAll().then((isDone) => {
      this.#writing = undefined;
      // Added after the last look.
      if (this.#isAwaited() || (isDone && this.#isBatch())) this.#write();
      else if (this.#lines > 0) this.#writeSoon(isDone ? this.#bounds.batchWaitMs : RETRY_MS);
    });
  }

  #isAwaited(): boolean {
    return this.#buffers.some(({ isAwaited }) => isAwaited);
  }

  /**
   * Writes what waits at this moment. What is added meanwhile waits for others again, unless it makes a batch: a write
   * costs as much as a few events, and under load each turn of the event loop brings some.
   */
  async #writeAll(): Promise<boolean> {
    for (let due = this.#lines; due > 0 || this.#isBatch() || this.#isAwaited();) {
      const [buffer] = this.#buffers;
      if (!buffer) break;
      const lines = buffer.waiting(this.#bounds.batchLines);
      const { written, error } = await this.#deps.destination.write(lines);
      due -= this.#done(buffer, error === undefined ? lines.length : written);
      if (error === undefined) continue;
      this.#deps.onError(error);
      for (const each of this.#buffers) each.disappoint();
      return false;
    }
    return true;
  }

  /** How many lines were written. */
  #done(buffer: LineBuffer, written: number): number {
    const { lines, bytes } = buffer.written(written);
    this.#lines -= lines;
    this.#bytes -= bytes;
    if (buffer.lines === 0) {
      this.#buffers.shift();
      this.#keepSpare(buffer);
    }
    if (lines > 0) this.#deps.onWritten(lines);
    return lines;
  }

  #keepSpare(buffer: LineBuffer): void {
    const { writeBytes } = this.#deps.destination;
    const isUsual = buffer.size === writeBytes;
    if (isUsual && this.#spare.length < Math.ceil(SPARE_BYTES / writeBytes)) this.#spare.push(buffer);
  }
}
