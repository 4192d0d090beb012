import type { Clock, Timer } from '../../process/index.ts';
import type { Destination } from './destination.ts';

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

interface Waiting {
  readonly line: string;
  /** Called once: whether the line was written. */
  readonly told: ((isWritten: boolean) => void) | undefined;
}

/** Wait before lines that could not be written are tried again. */
const RETRY_MS = 1_000;

/**
 * Longest wait for a line to be written. A line that takes longer counts as not written for the one who waits, and
 * stays in the queue.
 */
const CONFIRM_MS = 10_000;

/** Lines on their way to one destination, in order, one write at a time. Lines are ASCII, without their end. */
export class EventQueue {
  readonly #bounds: QueueBounds;
  readonly #deps: QueueDeps;
  #waiting: Waiting[] = [];
  #bytes = 0;
  #timer: Timer | undefined;
  #writing: Promise<void> | undefined;

  constructor(bounds: QueueBounds, deps: QueueDeps) {
    this.#bounds = bounds;
    this.#deps = deps;
  }

  /** What waits to be written. */
  get waiting(): { readonly events: number; readonly bytes: number } {
    return { events: this.#waiting.length, bytes: this.#bytes };
  }

  /** Adds a line, to be written with others soon. */
  add(line: string): void {
    if (!this.#take({ line, told: undefined })) return;
    if (this.#waiting.length >= this.#bounds.batchLines) this.#write();
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
      if (this.#take({ line, told })) this.#write();
      else told(false);
    });
  }

  /** Writes what waits, as far as that can be written, and closes the destination. */
  async close(): Promise<void> {
    this.#timer?.cancel();
    this.#write();
    await this.#writing;
    this.#timer?.cancel();
    for (const { told } of this.#waiting.splice(0)) {
      told?.(false);
      this.#deps.onDropped();
    }
    await this.#deps.destination.close();
  }

  /** False: there is no room. One line always has room, however long it is. */
  #take(waiting: Waiting): boolean {
    const bytes = waiting.line.length + 1;
    const isFull = this.#waiting.length >= this.#bounds.lines || this.#bytes + bytes > this.#bounds.bytes;
    if (isFull && this.#waiting.length > 0) {
      this.#deps.onDropped();
      return false;
    }
    this.#waiting.push(waiting);
    this.#bytes += bytes;
    return true;
  }

  #writeSoon(ms: number): void {
    if (this.#writing || this.#timer) return;
    this.#timer = this.#deps.clock.after(ms, () => this.#write());
  }

  #write(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#writing || this.#waiting.length === 0) return;
    this.#writing = this.#writeAll().then((isDone) => {
      this.#writing = undefined;
      // Added after the last look.
      const isNew = isDone ? this.#waiting.length > 0 : this.#waiting.some(({ told }) => told);
      if (isNew) this.#write();
      else if (!isDone) this.#writeSoon(RETRY_MS);
    });
  }

  async #writeAll(): Promise<boolean> {
    while (this.#waiting.length > 0) {
      const { text, lines } = this.#batch();
      const { written, error } = await this.#deps.destination.write(Buffer.from(text, 'latin1'));
      this.#done(error === undefined ? lines : linesIn(text, written));
      if (error === undefined) continue;
      this.#deps.onError(error);
      this.#disappoint();
      return false;
    }
    return true;
  }

  /** The first lines, as many as fit into one write. */
  #batch(): { readonly text: string; readonly lines: number } {
    const { batchLines } = this.#bounds;
    let text = '';
    let lines = 0;
    for (const { line } of this.#waiting) {
      if (lines > 0 && (lines >= batchLines || text.length + line.length + 1 > this.#deps.destination.writeBytes))
        break;
      text += `${line}\n`;
      lines += 1;
    }
    return { text, lines };
  }

  #done(lines: number): void {
    for (const { line, told } of this.#waiting.splice(0, lines)) {
      this.#bytes -= line.length + 1;
      told?.(true);
    }
    if (lines > 0) this.#deps.onWritten(lines);
  }

  /** Nobody waits for lines that cannot be written now; the lines stay. */
  #disappoint(): void {
    this.#waiting = this.#waiting.map(({ line, told }) => {
      told?.(false);
      return { line, told: undefined };
    });
  }
}

/** How many whole lines are in the first bytes of an ASCII text. */
const linesIn = (text: string, bytes: number): number => text.slice(0, bytes).split('\n').length - 1;
