import { fieldManager } from '../object.ts';
import type { KubeObject } from '../object.ts';

/**
 * Writes of one status at once, and how long after that each further one waits for: a pod may tell something else each
 * second.
 */
const AT_ONCE = 12;
const EVERY_MS = 10_000;
/** Written within the last minutes; more are looked through. */
const MAX_BUDGETS = 10_000;

/**
 * How long this process has known the present status of each object, and how often it was written. The time in the
 * object itself is that of the API server's clock, which may be minutes from ours.
 */
export class StatusWriteHistory {
  /** Never goes back. */
  readonly #now: () => number;
  readonly #seen = new Map<string, { readonly write: string; readonly atMs: number }>();

  readonly #budgets = new Map<string, { readonly left: number; readonly atMs: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Records the object as it arrives from a watch, or in the answer to a write. */
  observe({ metadata }: KubeObject): void {
    const { uid = '' } = metadata;
    const write = writeOf(metadata);
    if (write !== undefined && this.#seen.get(uid)?.write !== write) {
      this.#seen.set(uid, { write, atMs: this.#now() });
    }
  }

  /** Age of the status in milliseconds; infinite where it is not our write. */
  ageMs({ metadata }: KubeObject): number {
    const known = this.#seen.get(metadata.uid ?? '');
    return known === undefined || known.write !== writeOf(metadata) ? Infinity : this.#now() - known.atMs;
  }

  /** How long to wait before the next write of the status, in milliseconds, since it was written often. */
  pauseMs({ metadata: { uid = '' } }: KubeObject): number {
    return Math.max(0, 1 - this.#left(uid)) * EVERY_MS;
  }

  recordWrite({ metadata: { uid = '' } }: KubeObject): void {
    this.#budgets.set(uid, { left: this.#left(uid) - 1, atMs: this.#now() });
    // Entries of deleted objects are removed here: their end may have been missed.
    if (this.#budgets.size > MAX_BUDGETS)
      for (const each of this.#budgets.keys()) if (this.#left(each) === AT_ONCE) this.#budgets.delete(each);
  }

  #left(uid: string): number {
    const { left, atMs } = this.#budgets.get(uid) ?? { left: AT_ONCE, atMs: this.#now() };
    return Math.min(AT_ONCE, left + (this.#now() - atMs) / EVERY_MS);
  }

  /** The object is gone. */
  forget(uid: string): void {
    this.#budgets.delete(uid);
    this.#seen.delete(uid);
  }
}

const writeOf = ({ managedFields = [] }: KubeObject['metadata']): string | undefined =>
  managedFields.find(({ manager, subresource }) => manager === fieldManager && subresource === 'status')?.time;
