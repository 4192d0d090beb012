import type { PublishedClient } from './metadata-document.ts';

/** A client as it is remembered. */
export interface KeptClient {
  readonly client: PublishedClient;
  /** Upper bound of what it takes of the heap. */
  readonly bytes: number;
}

/**
 * A copy of the client for remembering. The parts of a document that were read may be slices of longer texts, which
 * live as long as their slices do.
 */
export const keptClient = (client: PublishedClient): KeptClient => ({
  client: structuredClone(client),
  bytes: heapBytes(client),
});

/** Header and padding of a text, and of an object or array; the slot of a member or element, with room to grow. */
const TEXT_BYTES = 24;
const OBJECT_BYTES = 64;
const SLOT_BYTES = 24;

const heapBytes = (value: unknown): number => {
  // A text with any character beyond Latin-1 takes two bytes for each.
  if (typeof value === 'string') return TEXT_BYTES + 2 * value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, each) => sum + SLOT_BYTES + heapBytes(each), OBJECT_BYTES);
};
