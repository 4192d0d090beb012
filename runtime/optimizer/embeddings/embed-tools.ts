import type { Log } from '../../observe/index.ts';
import { type Clock, eachOf, type Timer } from '../../process/index.ts';
import type { ConnectedService } from './embedding-client.ts';
import { EmbeddingError } from './embedding-error.ts';
import type { EmbeddingService } from './embedding-service.ts';
import { modelDigest, type VectorCache, type VectorSource } from './vector-cache.ts';

export interface EmbedToolsDeps {
  readonly service: EmbeddingService;
  readonly cache: VectorCache;
  /** The content hashes of the tools of the index that have no vector, and may get one. */
  readonly missing: () => readonly string[];
  /** What the service is given of a tool; undefined once the tool has gone. */
  readonly textOf: (hash: string) => string | undefined;
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

/** Pause before tools are looked for again that another replica is embedding. */
const CLAIMED_ELSEWHERE_MS = 2_000;

/**
 * Gives every tool of the index its vector, in the background: from memory, else from the store, else from the service,
 * in batches, one after another, so that queries find the service free. What fails is tried again after the pause of
 * the service. A tool that another replica is embedding is left to it, and then found in the store.
 */
export class EmbedTools {
  readonly #deps: EmbedToolsDeps;
  #modelKey: string | undefined;
  #isRunning = false;
  #isStale = false;
  /** Most texts of a batch, less after one that took too long, until all tools have their vectors. */
  #most = Infinity;
  #timer: Timer | undefined;
  #isEnded = false;

  constructor(deps: EmbedToolsDeps) {
    this.#deps = deps;
  }

  /** There may be tools without vectors. */
  note(): void {
    this.#isStale = true;
    if (this.#isRunning || this.#isEnded) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    void this.#run();
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
    this.#most = Infinity;
    this.note();
  }

  /** Ends in the same step in which it has found nothing new, so that no note between the two is lost. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      while (this.#isStale && !this.#isEnded) {
        this.#isStale = false;
        await this.#embedMissing();
      }
    } catch (err) {
      if (err instanceof EmbeddingError) this.#later(this.#deps.service.restMs);
      else this.#deps.log.error({ err }, 'tools could not be embedded');
    } finally {
      this.#isRunning = false;
    }
  }

  #later(ms: number): void {
    if (this.#isEnded) return;
    this.#timer?.cancel();
    this.#timer = this.#deps.clock.after(Math.max(1, ms), () => {
      this.#timer = undefined;
      this.note();
    });
  }

  async #embedMissing(): Promise<void> {
    if (this.#deps.missing().length === 0) return;
    const service = await this.#deps.service.connect();
    this.use(service);
    const unknown = [...(await this.#unknownOf(service, this.#deps.missing()))];
    const size = Math.min(service.batchSize, this.#most);
    let claimed: readonly string[] = [];
    let isElsewhere = false;
    while (claimed.length > 0 || unknown.length > 0) {
      if (!this.#isInUse(service)) unknown.length = 0;
      const next = unknown.splice(0, size - claimed.length);
      const own = await this.#claim(service, next);
      if (own.length < next.length) isElsewhere = true;
      claimed = [...claimed, ...own];
      if (claimed.length < size && unknown.length > 0) continue;
      await this.#embedClaimed(service, claimed);
      claimed = [];
    }
    this.#most = Infinity;
    if (isElsewhere && !this.#isStale) this.#later(CLAIMED_ELSEWHERE_MS);
  }

  /** Gives their vectors to the tools that memory or the store has those of; the others. */
  async #unknownOf(service: ConnectedService, hashes: readonly string[]): Promise<readonly string[]> {
    const unknown: string[] = [];
    await eachOf(hashes, async (hash) => {
      const known = await this.#deps.cache.get(placeOf(service, hash));
      if (!known) unknown.push(hash);
      else if (this.#isInUse(service)) this.#give(hash, known.vector, known.from);
    });
    return unknown;
  }

  /** The tools that this replica is to embed: others may have done so since the store was asked, or be at it. */
  async #claim(service: ConnectedService, hashes: readonly string[]): Promise<readonly string[]> {
    const { cache } = this.#deps;
    if (!cache.isShared) return hashes;
    const claimed: string[] = [];
    await eachOf(hashes, async (hash) => {
      if (await cache.claim(placeOf(service, hash))) claimed.push(hash);
    });
    // Looked for once they are claimed: who had the claim before has stored the vector first.
    const unknown = new Set(await this.#unknownOf(service, claimed));
    await this.#release(
      service,
      claimed.filter((hash) => !unknown.has(hash)),
    );
    return [...unknown];
  }

  async #embedClaimed(service: ConnectedService, hashes: readonly string[]): Promise<void> {
    try {
      await this.#embed(service, this.#withTexts(hashes));
    } finally {
      await this.#release(service, hashes);
    }
  }

  async #release(service: ConnectedService, hashes: readonly string[]): Promise<void> {
    if (this.#deps.cache.isShared) await eachOf(hashes, (hash) => this.#deps.cache.release(placeOf(service, hash)));
  }

  #withTexts(hashes: readonly string[]): readonly ToolToEmbed[] {
    return hashes.flatMap((hash) => {
      const text = this.#deps.textOf(hash);
      return text === undefined ? [] : [{ hash, text }];
    });
  }

  /** A batch that is refused is halved, until the text at fault stands alone; one that is late, after the pause. */
  async #embed(service: ConnectedService, batch: readonly ToolToEmbed[]): Promise<void> {
    if (batch.length === 0 || !this.#isInUse(service)) return;
    let vectors: readonly Float32Array[];
    try {
      const texts = batch.map(({ text }) => text);
      vectors = await this.#deps.service.embed(service, texts, 'tools');
    } catch (error) {
      if (!(error instanceof EmbeddingError)) throw error;
      if (error.reason === 'timeout') this.#most = Math.ceil(batch.length / 2);
      if (!error.isOfTexts) throw error;
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

interface ToolToEmbed {
  readonly hash: string;
  readonly text: string;
}

const placeOf = ({ modelKey, dimension }: ConnectedService, hash: string) => ({
  model: modelDigest(modelKey),
  dimension,
  hash,
});
