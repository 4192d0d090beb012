import { NamespaceRoom } from './namespace-room.ts';
import { weightOf } from '../cache/weight.ts';
import type { KubeObject } from '../object.ts';
import type { Accepted } from '../plan/server/bundle.ts';
import { isOutdated } from '../plan/server/objects/accepted.ts';

/** Bytes in memory, about, of those of one namespace: a few dozen of the largest servers there can be. */
const MOST_TOGETHER = 32 * 1024 * 1024;

/**
 * The last accepted spec of each server, with its files, that was proven while this process runs. Who may write
 * ConfigMaps takes the proof away, but not what is known. Beyond what a namespace may take, only the ConfigMaps know.
 */
export class ProvenSpecs {
  /** By uid of the server. */
  readonly #known = new Map<string, Known>();
  readonly #room: NamespaceRoom;

  constructor(mostTogether = MOST_TOGETHER) {
    this.#room = new NamespaceRoom(mostTogether);
  }

  /** `proven` is what its ConfigMaps prove now. */
  last(server: KubeObject, proven: Accepted | undefined): Accepted | undefined {
    const { uid = '', generation = 0 } = server.metadata;
    const known = this.#known.get(uid)?.accepted;
    // A server that came back from a backup is of an earlier generation: what was accepted later never happened.
    const counts = known !== undefined && !isOutdated(known.generation, server) && ageOf(known) <= generation;
    if (counts && (proven === undefined || isLess(proven, known))) return known;
    if (proven?.files !== undefined) this.#remember(server, proven);
    return proven;
  }

  #remember({ metadata: { uid = '', namespace = '' } }: KubeObject, accepted: Accepted): void {
    this.forget(uid);
    if (this.#room.take(namespace, uid, weightOf(accepted))) this.#known.set(uid, { namespace, accepted });
  }

  /** The server is gone. */
  forget(uid: string): void {
    const known = this.#known.get(uid);
    if (known !== undefined) this.#room.free(known.namespace, uid);
    this.#known.delete(uid);
  }
}

interface Known {
  readonly namespace: string;
  readonly accepted: Accepted;
}

const ageOf = ({ generation = 0 }: Accepted): number => generation;

/** Of an earlier spec, or of the same one without its files. */
const isLess = (proven: Accepted, known: Accepted): boolean =>
  ageOf(proven) < ageOf(known) || (ageOf(proven) === ageOf(known) && proven.files === undefined);
