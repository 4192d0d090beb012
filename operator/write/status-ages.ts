import { fieldManager } from '../object.ts';
import type { KubeObject } from '../object.ts';

/**
 * How old the status of an object is: since when this process knows of the write that made it. The time of that write itself is told by the
 * clock of the API server, which may be minutes from ours.
 */
export class StatusAges {
  /** Never goes back. */
  readonly #now: () => number;
  readonly #seen = new Map<string, { readonly write: string; readonly atMs: number }>();

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

  /** The object is gone. */
  forget(uid: string): void {
    this.#seen.delete(uid);
  }
}

const writeOf = ({ managedFields = [] }: KubeObject['metadata']): string | undefined =>
  managedFields.find(({ manager, subresource }) => manager === fieldManager && subresource === 'status')?.time;
