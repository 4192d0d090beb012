import { hash as digest } from 'node:crypto';
import type { Log } from '../../observe/index.ts';
import { type Clock, eachOf, type Timer } from '../../process/index.ts';
import type { ConnectedService } from './embedding-client.ts';
import { EmbeddingError } from './embedding-error.ts';
import type { EmbeddingService } from './embedding-service.ts';
import type { VectorCache, VectorSource } from './vector-cache.ts';

/** A text without a vector, by the content hash of its tool. */
export interface MissingVector {
  readonly hash: string;
  readonly text: string;
}

export interface EmbedToolsDeps {
  readonly service: EmbeddingService;
  readonly cache: VectorCache;
  /** The tools of the index that have no vector, and may get one. */
  readonly missing: () => readonly MissingVector[];
  readonly setVector: (hash: string, vector: Float32Array) => void;
  /** The service takes no text of this tool, which is not missing any more. */
  readonly setRefused: (hash: string) => void;
  /** Another model is there: what the one before has made, or refused, says nothing of it. */
  readonly dropVectors: () => void;
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
  /** Called for each tool that has got its vector, with where it was found. */
  readonly onVector: (from: VectorSource | 'service') => void;
}

/**
 * Gives every tool of the index its vector, in the background: from memory, else from the store, else from the service,
 * in batches, one after another, so that queries find the service free. What fails is tried again after the pause of
 * the service.
 */
export class EmbedTools {
  readonly #deps: EmbedToolsDeps;
  #modelKey: string | undefined;
  #running: Promise<void> | undefined;
  #isStale = false;
  #timer: Timer | undefined;
  #isEnded = false;

  constructor(deps: EmbedToolsDeps) {
    this.#deps = deps;
  }

  /** There may be tools without vectors. */
  note(): void {
    this.#isStale = true;
    if (this.#running || this.#isEnded) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#running = this.#run()
      .catch((err: unknown) => this.#deps.log.error({ err }, 'tools could not be embedded'))
      .finally(() => {
        this.#running = undefined;
      });
  }

  end(): void {
    this.#isEnded = true;
    this.#timer?.cancel();
  }

  /** To be called with a service that has just been connected: drops what another model has made. */
  use({ modelKey }: ConnectedService): void {
    if (this.#modelKey === modelKey) return;
    if (this.#modelKey !== undefined) this.#deps.dropVectors();
    this.#modelKey = modelKey;
    this.note();
  }

  async #run(): Promise<void> {
    while (this.#isStale && !this.#isEnded) {
      this.#isStale = false;
      try {
        await this.#embedMissing();
      } catch (error) {
        if (!(error instanceof EmbeddingError)) throw error;
        return this.#later();
      }
    }
  }

  #later(): void {
    if (this.#isEnded) return;
    this.#timer = this.#deps.clock.after(Math.max(1, this.#deps.service.restMs), () => {
      this.#timer = undefined;
      this.note();
    });
  }

  async #embedMissing(): Promise<void> {
    if (this.#deps.missing().length === 0) return;
    const service = await this.#deps.service.connect();
    this.use(service);
    const missing = this.#deps.missing();
    const unknown: MissingVector[] = [];
    await eachOf(missing, async (each) => {
      const known = await this.#deps.cache.get(placeOf(service, each.hash));
      if (!known) unknown.push(each);
      else if (this.#isInUse(service)) this.#give(each.hash, known.vector, known.from);
    });
    for (let at = 0; at < unknown.length; at += service.batchSize)
      await this.#embed(service, unknown.slice(at, at + service.batchSize));
  }

  /** A batch that is refused is halved, until the text at fault stands alone. */
  async #embed(service: ConnectedService, batch: readonly MissingVector[]): Promise<void> {
    if (batch.length === 0 || !this.#isInUse(service)) return;
    let vectors: readonly Float32Array[];
    try {
      const texts = batch.map(({ text }) => text);
      vectors = await this.#deps.service.embed(service, texts, 'tools');
    } catch (error) {
      if (!(error instanceof EmbeddingError) || !error.isOfTexts) throw error;
      const [first] = batch;
      if (batch.length === 1 && first) {
        if (this.#isInUse(service)) this.#deps.setRefused(first.hash);
        return;
      }
      const half = Math.ceil(batch.length / 2);
      await this.#embed(service, batch.slice(0, half));
      return this.#embed(service, batch.slice(half));
    }
    if (!this.#isInUse(service)) return;
    const pairs = batch.flatMap(({ hash }, index) => {
      const vector = vectors[index];
      return vector ? [{ hash, vector }] : [];
    });
    for (const { hash, vector } of pairs) this.#give(hash, vector, 'service');
    await eachOf(pairs, ({ hash, vector }) => this.#deps.cache.set(placeOf(service, hash), vector));
  }

  /** False after a reload, and once the service has come back with another model: its vectors fit no others. */
  #isInUse({ modelKey }: ConnectedService): boolean {
    return !this.#isEnded && modelKey === this.#modelKey;
  }

  #give(hash: string, vector: Float32Array, from: VectorSource | 'service'): void {
    this.#deps.setVector(hash, vector);
    this.#deps.onVector(from);
  }
}

const placeOf = ({ modelKey, dimension }: ConnectedService, hash: string) => ({
  model: digest('sha256', modelKey, 'base64url').slice(0, 16),
  dimension,
  hash,
});
