import type { KubeObject } from '../object.ts';
import { type Accepted, isOutdated } from '../plan/server/accepted.ts';

/**
 * The last accepted spec of each server, with its files, that was proven while this process runs. Who may write ConfigMaps takes the proof
 * away, but not what is known.
 */
export class ProvenSpecs {
  /** By uid of the server. */
  readonly #known = new Map<string, Accepted>();

  /** `proven` is what its ConfigMaps prove now. */
  last(server: KubeObject, proven: Accepted | undefined): Accepted | undefined {
    const { uid = '', generation = 0 } = server.metadata;
    const known = this.#known.get(uid);
    // A server that came back from a backup is of an earlier generation: what was accepted later never happened.
    const counts = known !== undefined && !isOutdated(known.generation, server) && ageOf(known) <= generation;
    if (counts && (proven === undefined || isLess(proven, known))) return known;
    if (proven?.files !== undefined) this.#known.set(uid, proven);
    return proven;
  }

  /** The server is gone. */
  forget(uid: string): void {
    this.#known.delete(uid);
  }
}

const ageOf = ({ generation = 0 }: Accepted): number => generation;

/** Of an earlier spec, or of the same one without its files. */
const isLess = (proven: Accepted, known: Accepted): boolean =>
  ageOf(proven) < ageOf(known) || (ageOf(proven) === ageOf(known) && proven.files === undefined);
