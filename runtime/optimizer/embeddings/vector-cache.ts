import { hash as digest } from 'node:crypto';
import { lruCache } from '../../process/index.ts';
import type { Store } from '../../store/index.ts';
import { isSameModel } from './model-probe.ts';

export interface VectorCacheDeps {
  /** Shared by replicas; absent: there is no such store. */
  readonly store: Pick<Store, 'get' | 'set' | 'setIfAbsent' | 'delete'> | undefined;
}

/** Vectors of tools that went, and may come back: 5,000 of 1,024 dimensions take 20 MiB. */
const BOUNDS = { count: 20_000, bytes: 32 * 1024 * 1024 };

/** Time that vectors are stored for: tools that nobody has offered for as long are embedded again. */
const TTL_MS = 30 * 24 * 3_600_000;

/** Time that a replica which has claimed a tool is left alone with it: one that has died holds it no longer. */
const CLAIM_MS = 60_000;

/** Models that a service may have under one name within `TTL_MS`; those beyond are not shared by replicas. */
const MODELS_OF_ONE_NAME = 8;

/** Where a vector was found. */
export type VectorSource = 'memory' | 'store';

/** The vectors of one model by the content hash of their tools, in memory and in the store of all replicas. */
export class VectorCache {
  readonly #memory = lruCache<Float32Array>(BOUNDS);
  readonly #store: VectorCacheDeps['store'];

  constructor({ store }: VectorCacheDeps) {
    this.#store = store;
  }

  get size(): number {
    return this.#memory.count();
  }

  /** Undefined: there is none, or the store does not answer. */
  async get(of: Of): Promise<{ readonly vector: Float32Array; readonly from: VectorSource } | undefined> {
    const known = this.#memory.get(keyOf(of));
    if (known) return { vector: known, from: 'memory' };
    const stored = await this.#store?.get(keyOf(of)).catch(() => undefined);
    const vector = stored && vectorIn(stored, of.dimension);
    if (!vector) return undefined;
    this.#keep(of, vector);
    return { vector, from: 'store' };
  }

  /** Never throws: what cannot be stored is embedded again elsewhere. */
  async set(of: Of, vector: Float32Array): Promise<void> {
    this.#keep(of, vector);
    await this.#store?.set(keyOf(of), bytesOf(vector), TTL_MS).catch(() => undefined);
  }

  /**
   * The vector of the probe under which the vectors of this model are kept: rounding makes it another one at each
   * start, and so would keep what one replica has embedded from the others. Models of one name have a place each, and
   * none of them is replaced: replicas that find the same model at one time know it by the same vector.
   */
  async knownProbe(modelName: string, probe: Float32Array): Promise<Float32Array> {
    const model = modelDigest(modelName);
    for (let place = 0; place < MODELS_OF_ONE_NAME; place += 1) {
      const known = await this.#getOrSet({ model, dimension: probe.length, hash: `probe${place}` }, probe);
      if (isSameModel(known, probe)) return known;
    }
    return probe;
  }

  /** Whether other replicas may embed the same tools. */
  get isShared(): boolean {
    return this.#store !== undefined;
  }

  /** False: another replica is embedding the tool. True where the store does not answer. */
  async claim(of: Of): Promise<boolean> {
    return (await this.#store?.setIfAbsent(claimOf(of), CLAIMED, CLAIM_MS).catch(() => true)) ?? true;
  }

  /** Ends a claim: the tool has its vector, or could not be embedded. */
  async release(of: Of): Promise<void> {
    await this.#store?.delete(claimOf(of)).catch(() => false);
  }

  /** What is there; the given vector where there was none. */
  async #getOrSet(of: Of, vector: Float32Array): Promise<Float32Array> {
    const known = await this.get(of);
    if (known) return known.vector;
    const isOwn = (await this.#store?.setIfAbsent(keyOf(of), bytesOf(vector), TTL_MS).catch(() => true)) ?? true;
    const first = isOwn ? undefined : await this.get(of);
    if (first) return first.vector;
    this.#keep(of, vector);
    return vector;
  }

  #keep(of: Of, vector: Float32Array): void {
    this.#memory.set(keyOf(of), vector, vector.byteLength);
  }
}

/** A short text for what a model is known by. */
export const modelDigest = (modelKey: string): string => digest('sha256', modelKey, 'base64url').slice(0, 16);

interface Of {
  /** `modelDigest` of the key of the model. */
  readonly model: string;
  readonly dimension: number;
  /** The content hash of the tool. */
  readonly hash: string;
}

const keyOf = ({ model, hash }: Of): string => `${model}:${hash}`;

const CLAIMED = Buffer.from('1');

const claimOf = (of: Of): string => `claim:${keyOf(of)}`;

/** 32-bit floats, little-endian. */
const bytesOf = (vector: Float32Array): Buffer => {
  const bytes = Buffer.allocUnsafe(vector.length * 4);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes;
};

const vectorIn = (bytes: Buffer, dimension: number): Float32Array | undefined => {
  if (bytes.length !== dimension * 4) return undefined;
  const vector = Float32Array.from({ length: dimension }, (_, index) => bytes.readFloatLE(index * 4));
  const isUsable = vector.every((value) => Number.isFinite(value)) && vector.some((value) => value !== 0);
  return isUsable ? vector : undefined;
};
