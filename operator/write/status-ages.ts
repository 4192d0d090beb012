import { fieldManager } from '../object.ts';
import type { KubeObject } from '../object.ts';

/**
 * How old the status of an object is: since when this process knows of the write that made it. The time of that write itself is told by the
 * clock of the API server, which may be minutes from ours.
 */
export class StatusAges {
  readonly #now: () => number;
  readonly #seen = new Map<string, { readonly write: string; readonly atMs: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** In milliseconds; without a write of ours it is older than any other. */
  of({ metadata: { uid = '', managedFields = [] } }: KubeObject): number {
    const { time: write } =
      managedFields.find(({ manager, subresource }) => manager === fieldManager && subresource === 'status') ?? {};
    if (write === undefined) return Infinity;
    const known = this.#seen.get(uid);
    if (known?.write === write) return this.#now() - known.atMs;
    this.#seen.set(uid, { write, atMs: this.#now() });
    return 0;
  }

  /** The object is gone. */
  forget(uid: string): void {
    this.#seen.delete(uid);
  }
}
