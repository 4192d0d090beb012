import { atMost, type Clock, lruCache } from '../../process/index.ts';
import { EmbeddingError } from './embedding-error.ts';
import type { EmbeddingService } from './embedding-service.ts';
import type { ConnectedService } from './embedding-client.ts';

export interface QueryVectorsDeps {
  readonly service: EmbeddingService;
  readonly clock: Clock;
  /** Milliseconds, for durations. */
  readonly steadyNow: () => number;
  /** Longest time that a search waits, in milliseconds. */
  readonly mostMs: () => number;
  /** Called with the service before a query is embedded. */
  readonly onConnected: (service: ConnectedService) => void;
}

/** Why a query was searched for by its words alone. */
export type Degraded = 'embedding_service_unavailable' | 'embedding_service_slow';

export type QueryVector = { readonly vector: Float32Array } | { readonly degraded: Degraded };

const KNOWN_QUERIES = { count: 2_000, bytes: 8 * 1024 * 1024 };

/**
 * Queries that the service is asked for at one time; more are searched for by their words. The last ones are for askers
 * who have fewer than `OF_ONE`, so that one asker leaves room for others.
 */
const UNDER_WAY = 32;
const OF_ONE = 8;

/**
 * A search waits for the vector of its query twice as long as such a request took lately; no longer than this where the
 * service is not known yet, or is slow.
 */
const LEAST_MS = 30;

/** A service that takes more of the longest time is slow. */
const QUICK_SHARE = 0.75;

/** Weight of the newest of the times. */
const SMOOTHING = 0.3;

/**
 * Vectors of queries, which each asker asks for once: the time of an answer tells nobody what others have searched for.
 * A query that takes too long goes on being embedded, so that asking it again finds its vector.
 */
export class QueryVectors {
  readonly #deps: QueryVectorsDeps;
  readonly #known = lruCache<Float32Array>(KNOWN_QUERIES);
  readonly #underWay = new Map<string, { readonly asker: string; readonly vector: Promise<Float32Array> }>();
  #usualMs: number | undefined;

  constructor(deps: QueryVectorsDeps) {
    this.#deps = deps;
  }

  get budgetMs(): number {
    const usual = this.#usualMs ?? this.#deps.service.connected?.firstMs;
    if (usual === undefined || usual > this.#quickMs) return LEAST_MS;
    return Math.min(this.#deps.mostMs(), Math.max(LEAST_MS, 2 * usual));
  }

  get #quickMs(): number {
    return QUICK_SHARE * this.#deps.mostMs();
  }

  /** `asker` is a key of who asks. Never throws for a fault of the service. */
  async vectorOf(text: string, asker: string): Promise<QueryVector> {
    const { service, clock } = this.#deps;
    const known = service.connected && this.#known.get(keyOf(service.connected, text, asker));
    if (known) return { vector: known };
    if (service.resting) return { degraded: 'embedding_service_unavailable' };
    if (!this.#underWay.has(askedBy(asker, text)) && !this.#hasRoomFor(asker))
      return { degraded: 'embedding_service_slow' };
    const asked = this.#ask(text, asker);
    try {
      if (await atMost(clock, this.budgetMs, asked)) return { vector: await asked };
      // No longer than need be for the queries after this one, until one has been quick again.
      this.#usualMs = Math.max(this.#usualMs ?? 0, this.#quickMs + 1);
      return { degraded: 'embedding_service_slow' };
    } catch (error) {
      if (!(error instanceof EmbeddingError)) throw error;
      return { degraded: 'embedding_service_unavailable' };
    }
  }

  #ask(text: string, asker: string): Promise<Float32Array> {
    const key = askedBy(asker, text);
    const before = this.#underWay.get(key);
    if (before) return before.vector;
    const vector = this.#embed(text, asker).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, { asker, vector });
    return vector;
  }

  #hasRoomFor(asker: string): boolean {
    const { size } = this.#underWay;
    if (size < UNDER_WAY - OF_ONE) return true;
    const own = [...this.#underWay.values()].filter((each) => each.asker === asker).length;
    return own < OF_ONE && size < UNDER_WAY;
  }

  async #embed(text: string, asker: string): Promise<Float32Array> {
    const { service, onConnected, steadyNow } = this.#deps;
    const connected = await service.connect();
    onConnected(connected);
    const from = steadyNow();
    const [vector] = await service.embed(connected, [text], 'query');
    const ms = steadyNow() - from;
    this.#usualMs = this.#usualMs === undefined ? ms : (1 - SMOOTHING) * this.#usualMs + SMOOTHING * ms;
    if (!vector) throw new EmbeddingError('invalid', 'the embedding service answered without a vector');
    const key = keyOf(connected, text, asker);
    this.#known.set(key, vector, vector.byteLength + 2 * key.length);
    return vector;
  }
}

const askedBy = (asker: string, text: string): string => JSON.stringify([asker, text]);

const keyOf = ({ modelKey }: ConnectedService, text: string, asker: string): string =>
  `${modelKey} ${askedBy(asker, text)}`;
