import { fieldManager } from '../object.ts';
import type { KubeObject } from '../object.ts';

/**
 * Writes of one status at once, and how long after that each further one waits for: a pod may tell something else each
 * second.
 */
const AT_ONCE = 12;
const EVERY_MS = 10_000;
/** Written within the last minutes; more are looked through. */
const MOST_BUDGETS = 10_000;

/**
 * How old the status of an object is: since when this process knows of the write that made it. The time of that write
 * itself is told by the clock of the API server, which may be minutes from ours.
 */
export class StatusWrites {
  /** Never goes back. */
  readonly #now: () => number;
  readonly #seen = new Map<string, { readonly write: string; readonly atMs: number }>();

  readonly #budgets = new Map<string, { readonly left: number; readonly atMs: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The object as the process has just come to know it: from a watch, or by the answer to its own write. */
  saw({ metadata }: KubeObject): void {
    const { uid = '' } = metadata;
    const write = writeOf(metadata);
    if (write !== undefined && this.#seen.get(uid)?.write !== write) {
      this.#seen.set(uid, { write, atMs: this.#now() });
    }
  }

  /** In milliseconds; without a write of ours it is older than any other. */
  of({ metadata }: KubeObject): number {
    const known = this.#seen.get(metadata.uid ?? '');
    return known === undefined || known.write !== writeOf(metadata) ? Infinity : this.#now() - known.atMs;
  }

  /** For how long it is not to be written, in milliseconds, since it was written often. */
  pauseMs({ metadata: { uid = '' } }: KubeObject): number {
    return Math.max(0, 1 - this.#left(uid)) * EVERY_MS;
  }

  wrote({ metadata: { uid = '' } }: KubeObject): void {
    this.#budgets.set(uid, { left: this.#left(uid) - 1, atMs: this.#now() });
    // Of what is gone by now nobody would tell.
    if (this.#budgets.size > MOST_BUDGETS)
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
