import { lruCache } from '../../process/index.ts';
import type { Store } from '../../store/index.ts';

export interface VectorCacheDeps {
  /** Shared by replicas; absent: there is no such store. */
  readonly store: Pick<Store, 'get' | 'set'> | undefined;
}

/** Vectors of tools that went, and may come back: 5,000 of 1,024 dimensions take 20 MiB. */
const BOUNDS = { count: 20_000, bytes: 32 * 1024 * 1024 };

/** Time that vectors are stored for: tools that nobody has offered for as long are embedded again. */
const TTL_MS = 30 * 24 * 3_600_000;

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

  #keep(of: Of, vector: Float32Array): void {
    this.#memory.set(keyOf(of), vector, vector.byteLength);
  }
}

interface Of {
  /** A digest of model and dimension, as `digestOf` makes it. */
  readonly model: string;
  readonly dimension: number;
  /** The content hash of the tool. */
  readonly hash: string;
}

const keyOf = ({ model, hash }: Of): string => `${model}:${hash}`;

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
