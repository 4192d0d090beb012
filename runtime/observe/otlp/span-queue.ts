import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace';
import { backoffMs, type Clock, type Timer } from '../../process/index.ts';
import type { ExportOutcomes } from './export-outcomes.ts';
import { ExportError } from './otlp-sender.ts';

export interface SpanQueueDeps {
  /** Sends a batch; resolves to the number of spans that the collector rejected. */
  readonly send: (spans: ReadableSpan[]) => Promise<number>;
  readonly outcomes: ExportOutcomes;
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
}

/** OpenTelemetry, "Batching processor". */
export const MAX_SPANS = 2_048;
const BATCH_SPANS = 512;
const DELAY_MS = 1_000;

const RETRY = { baseMs: 1_000, maxMs: 30_000 };
/** Attempts for one batch: the spans after it wait, or are dropped. */
const MAX_ATTEMPTS = 5;

const SAMPLED = 1;

/**
 * Sends ended spans in batches, one at a time. Spans for which there is no room are dropped, so that a collector that
 * is slow or down delays no call and takes a bounded amount of memory.
 */
export class SpanQueue implements SpanProcessor {
  readonly #deps: SpanQueueDeps;
  #waiting: ReadableSpan[] = [];
  #timer: Timer | undefined;
  #sending: Promise<void> | undefined;
  #attempts = 0;
  /** How long the collector wants to be left alone. */
  #restMs = 0;
  #isClosed = false;

  constructor(deps: SpanQueueDeps) {
    this.#deps = deps;
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & SAMPLED) === 0) return;
    if (this.#isClosed || this.#waiting.length >= MAX_SPANS) return this.#deps.outcomes.spans('dropped', 1);
    this.#waiting.push(span);
    // While an attempt is due or under way, its end decides about the next one.
    if (this.#attempts === 0 && this.#waiting.length === BATCH_SPANS) this.#sendAfter(0);
    else if (!this.#timer && !this.#sending) this.#sendAfter(DELAY_MS);
  }

  /** Sends what waits, with one attempt for each batch. */
  async forceFlush(): Promise<void> {
    await this.#sending;
    this.#timer?.cancel();
    this.#timer = undefined;
    while (this.#waiting.length > 0) {
      this.#attempts = MAX_ATTEMPTS;
      await this.#sendBatch();
    }
  }

  /** The same; what ends later is dropped. */
  async shutdown(): Promise<void> {
    this.#isClosed = true;
    await this.forceFlush();
  }

  #sendAfter(ms: number): void {
    this.#timer?.cancel();
    this.#timer = this.#deps.clock.after(ms, () => {
      this.#timer = undefined;
      this.#sending = this.#sendBatch().then(() => {
        this.#sending = undefined;
        if (this.#waiting.length > 0 && !this.#timer && !this.#isClosed) this.#sendAfter(this.#nextDelayMs());
      });
    });
  }

  #nextDelayMs(): number {
    if (this.#attempts > 0)
      return Math.max(backoffMs(this.#attempts, RETRY, this.#deps.random), Math.min(this.#restMs, RETRY.maxMs));
    return this.#waiting.length >= BATCH_SPANS ? 0 : DELAY_MS;
  }

  async #sendBatch(): Promise<void> {
    const { send, outcomes } = this.#deps;
    const batch = this.#waiting.slice(0, BATCH_SPANS);
    try {
      const rejected = Math.min(await send(batch), batch.length);
      outcomes.spans('exported', batch.length - rejected);
      if (rejected > 0) outcomes.spans('rejected', rejected);
      outcomes.ended('traces');
    } catch (error) {
      outcomes.ended('traces', error);
      this.#attempts += 1;
      this.#restMs = (error instanceof ExportError && error.retryAfterMs) || 0;
      const isFinal = error instanceof ExportError && !error.mayBeRepeated;
      if (!isFinal && this.#attempts < MAX_ATTEMPTS) return;
      outcomes.spans('failed', batch.length);
    }
    this.#attempts = 0;
    this.#waiting.splice(0, batch.length);
  }
}
