import { Share, type ByteBudget } from '../process/index.ts';
import type { EventSink, OpenStream, StreamRecord } from '../call/index.ts';

export interface EventLogsParts {
  /** Prefix of the event ids of this session at this replica, different from all others; letters and digits. */
  readonly prefix: string;
  /** Bytes kept of all streams of the session. */
  readonly maxBytes: number;
  /** Shared by all sessions. */
  readonly budget: ByteBudget;
  /** MCP 2025-11-25: a stream begins with an event that has an id and no data. */
  readonly isPrimed: boolean;
}

/** Streams of one session that are remembered. */
const MAX_STREAMS = 64;

interface Kept {
  readonly log: EventLog;
  readonly sequence: number;
  readonly data: Buffer;
}

/**
 * What was sent on the streams of one session lately, for a client that lost its connection (MCP "Resumability and
 * Redelivery").
 */
export class EventLogs {
  readonly #parts: EventLogsParts;
  readonly #share: Share;
  readonly #streams = new Map<string, EventLog>();
  /** Events of all streams, oldest first. */
  #kept: Kept[] = [];
  #bytes = 0;
  #last = 0;
  #isCleared = false;

  constructor(parts: EventLogsParts) {
    this.#parts = parts;
    this.#share = new Share(parts.budget);
  }

  /** `ofCall`: the stream ends with the answer to a call. */
  newStream(ofCall?: 'ofCall'): EventLog {
    this.#last += 1;
    const key = `${this.#parts.prefix}-${this.#last}`;
    const log: EventLog = new EventLog({
      key,
      isPrimed: this.#parts.isPrimed,
      isOfCall: ofCall !== undefined,
      onBegun: () => this.#remember(key, log),
      keep: (sequence, data) => this.#keep({ log, sequence, data }),
      after: (sequence) => this.#kept.filter((each) => each.log === log && each.sequence > sequence),
    });
    return log;
  }

  #remember(key: string, log: EventLog): void {
    if (this.#isCleared) return;
    this.#streams.set(key, log);
    if (this.#streams.size <= MAX_STREAMS) return;
    const known = [...this.#streams];
    // The client has most probably seen the end of a stream that ended in order.
    const [forgotten] = known.find(([, each]) => each.isFinished) ?? known[0] ?? [];
    if (forgotten !== undefined) this.#streams.delete(forgotten);
  }

  /** The stream on which the event with this id was sent. Undefined: this replica knows no such event. */
  find(eventId: string): { readonly log: EventLog; readonly sequence: number } | undefined {
    const at = eventId.lastIndexOf('-');
    const log = this.#streams.get(eventId.slice(0, at));
    const sequence = Number(eventId.slice(at + 1));
    return log && Number.isInteger(sequence) ? { log, sequence } : undefined;
  }

  /** Forgets all events for good: later events of its streams are not kept either. */
  clear(): void {
    this.#isCleared = true;
    this.#kept = [];
    this.#bytes = 0;
    this.#streams.clear();
    this.#share.release();
  }

  /** False where even the newest event has no room. */
  #keep(event: Kept): boolean {
    if (this.#isCleared) return false;
    this.#kept.push(event);
    this.#bytes += event.data.length;
    while (this.#kept.length > 0 && (this.#bytes > this.#parts.maxBytes || !this.#share.resize(this.#bytes))) {
      this.#bytes -= this.#kept.shift()?.data.length ?? 0;
    }
    this.#share.resize(this.#bytes);
    return this.#kept.length > 0;
  }
}

interface EventLogParts {
  readonly key: string;
  readonly isPrimed: boolean;
  readonly isOfCall: boolean;
  readonly onBegun: () => void;
  /** False: the event was not kept. */
  readonly keep: (sequence: number, data: Buffer) => boolean;
  readonly after: (sequence: number) => readonly Kept[];
}

/** One stream, over all connections that the client opens for it. */
export class EventLog implements StreamRecord {
  readonly #parts: EventLogParts;
  #sink: EventSink | undefined;
  #sequence = 0;
  #isFinished = false;

  constructor(parts: EventLogParts) {
    this.#parts = parts;
  }

  /** Whether the stream ends with the answer to a call. */
  get isOfCall(): boolean {
    return this.#parts.isOfCall;
  }

  get isFinished(): boolean {
    return this.#isFinished;
  }

  get isBegun(): boolean {
    return this.#sequence > 0;
  }

  begin(sink: EventSink): void {
    this.#sink = sink;
    this.#sequence = 1;
    this.#parts.onBegun();
    if (this.#parts.isPrimed) sink.send(NO_DATA, this.#idOf(1));
  }

  /** Whether the client is connected, as far as is known. */
  get isOpen(): boolean {
    return this.#sink !== undefined;
  }

  /** The client has reconnected, and has seen everything up to `sequence`. Its previous connection is ended. */
  resume(sink: EventSink, sequence: number): void {
    this.#sink?.end();
    this.#sink = sink;
    for (const each of this.#parts.after(sequence)) sink.send(each.data, this.#idOf(each.sequence));
    if (this.#isFinished) sink.end();
  }

  disconnect(sink: EventSink): void {
    if (this.#sink === sink) this.#sink = undefined;
  }

  /** False: the client is not connected, and the event is not kept for it. */
  send(data: Buffer): boolean {
    this.#sequence += 1;
    const isKept = this.#parts.keep(this.#sequence, data);
    const isTaken = this.#sink?.send(data, this.#idOf(this.#sequence)) ?? false;
    if (!isTaken) this.#sink = undefined;
    return isTaken || isKept;
  }

  finish(data: Buffer | undefined): void {
    if (data) this.send(data);
    this.#isFinished = true;
    this.#sink?.end();
  }

  #idOf(sequence: number): string {
    return `${this.#parts.key}-${sequence}`;
  }
}

const NO_DATA = Buffer.alloc(0);

/** The connection of a stream, as one that receives events. */
export const sinkOf = (stream: OpenStream): EventSink => ({
  send: (data, id) => stream.send(data, undefined, id),
  end: stream.end,
});
