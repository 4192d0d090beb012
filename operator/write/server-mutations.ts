import { agrees } from './diff.ts';
import { isSameService } from './service-diff.ts';
import { trim } from '../cache/trim.ts';
import type { KubeObject } from '../object.ts';
import { hashOf } from '../plan/canonical.ts';

/** Is there nothing to send for this child? */
export const isAsPlanned = (child: KubeObject, live: KubeObject): boolean =>
  agrees(child, live) && isSameService(child, live);

/**
 * Remembers what the API server, or a webhook in it, stores for good in another form than was sent, by the object's
 * uid, so that the object is sent once and not at every reconcile.
 */
export class ServerMutations {
  readonly #known = new Map<string, string>();

  record(sent: KubeObject, stored: KubeObject): void {
    const uid = stored.metadata.uid ?? '';
    if (isAsPlanned(sent, stored)) {
      this.#known.delete(uid);
    } else {
      this.#known.set(uid, fingerprint(sent, stored));
    }
  }

  isKnown(sent: KubeObject, stored: KubeObject): boolean {
    return this.#known.get(stored.metadata.uid ?? '') === fingerprint(sent, stored);
  }

  /** The object is gone. */
  forget(uid: string): void {
    this.#known.delete(uid);
  }
}

/**
 * Status and annotations of others are left out: they write there all the time. The answer to a write holds more of the
 * metadata than the cache.
 */
const fingerprint = (sent: KubeObject, stored: KubeObject): string => {
  const { metadata: _, status: __, ...content } = stored;
  const { metadata } = trim(stored);
  const annotations = Object.keys(sent.metadata.annotations ?? {}).map((key) => metadata.annotations?.[key] ?? null);
  return hashOf([sent, content, metadata.labels, annotations, metadata.ownerReferences]);
};
