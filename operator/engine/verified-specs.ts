import { NamespaceQuota } from '../cache/namespace-quota.ts';
import { memoryBytesOf } from '../cache/memory-bytes.ts';
import type { KubeObject } from '../object.ts';
import type { Accepted } from '../plan/server/bundle.ts';
import { isOutdated } from '../plan/server/objects/accepted.ts';

/** Bytes in memory, about, of those of one namespace: a few dozen of the largest servers there can be. */
const MAX_NAMESPACE_BYTES = 32 * 1024 * 1024;

/**
 * The last accepted spec of each server, with its files, whose MAC was verified while this process runs. A user who may
 * write ConfigMaps can remove the MAC, but not what is remembered here. Beyond the quota of a namespace, only the
 * ConfigMaps hold it.
 */
export class VerifiedSpecs {
  /** By uid of the server. */
  readonly #known = new Map<string, Known>();
  readonly #quota: NamespaceQuota;

  constructor(maxNamespaceBytes = MAX_NAMESPACE_BYTES) {
    this.#quota = new NamespaceQuota(maxNamespaceBytes);
  }

  /** The newer of what is remembered and of `proven`, which the server's ConfigMaps verify now. */
  last(server: KubeObject, proven: Accepted | undefined): Accepted | undefined {
    const { uid = '', generation = 0 } = server.metadata;
    const known = this.#known.get(uid)?.accepted;
    // A server that came back from a backup is of an earlier generation: what was accepted later never happened.
    const counts = known !== undefined && !isOutdated(known.generation, server) && ageOf(known) <= generation;
    if (counts && (proven === undefined || isOlderOrPartial(proven, known))) return known;
    if (proven?.files !== undefined) this.#remember(server, proven);
    return proven;
  }

  #remember({ metadata: { uid = '', namespace = '' } }: KubeObject, accepted: Accepted): void {
    this.forget(uid);
    if (this.#quota.tryReserve(namespace, uid, memoryBytesOf(accepted))) this.#known.set(uid, { namespace, accepted });
  }

  /** The server is gone. */
  forget(uid: string): void {
    const known = this.#known.get(uid);
    if (known !== undefined) this.#quota.release(known.namespace, uid);
    this.#known.delete(uid);
  }
}

interface Known {
  readonly namespace: string;
  readonly accepted: Accepted;
}

const ageOf = ({ generation = 0 }: Accepted): number => generation;

/** Of an earlier spec, or of the same one without its files. */
const isOlderOrPartial = (proven: Accepted, known: Accepted): boolean =>
  ageOf(proven) < ageOf(known) || (ageOf(proven) === ageOf(known) && proven.files === undefined);
