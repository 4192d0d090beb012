import type { Clock } from '../../process/index.ts';
import { asVmcpError, VmcpError } from '../../errors.ts';
import type { Lists } from '../../mcp/index.ts';
import type { Fetch } from '../../outgoing/index.ts';
import type { BackendStatus } from '../../status/index.ts';
import { ListDiscovery } from './list-discovery.ts';
import type { ListSource } from '../messages/backend-call.ts';
import type { ProbeBounds } from './era-probe.ts';
import type { BackendSession } from '../session/session.ts';

/** What one backend lists to one user. */
export interface CallerLists {
  readonly name: string;
  readonly status: BackendStatus;
  /** Why there are no lists. */
  readonly message?: string;
  readonly error?: VmcpError;
  readonly lists?: Lists;
}

export interface CallerListing {
  readonly backend: string;
  readonly clock: Clock;
  /** Longest silence of one request. */
  readonly idleTimeoutMs: number;
  /** Sends as the user. */
  readonly fetch: Fetch;
  /** Opens what the lists are read over: a stateless client, or a session for this purpose alone. */
  readonly link: (bounds: ProbeBounds) => Promise<ListSource | BackendSession>;
}

/** Time for all lists of one backend together, as the user's request waits for them. */
const LISTING_MS = 10_000;

/** Reads all lists of a backend as one user. Never throws: another backend's lists are shown all the same. */
export const listFor = async ({ backend, clock, idleTimeoutMs, fetch, link }: CallerListing): Promise<CallerLists> => {
  const enough = new AbortController();
  const timer = clock.after(LISTING_MS, () =>
    enough.abort(new VmcpError('backend_timeout', `backend "${backend}" did not list in time`)),
  );
  const { signal } = enough;
  let over: ListSource | BackendSession | undefined;
  try {
    over = await link({ clock, fetch, signal, idleTimeoutMs: Math.min(idleTimeoutMs, LISTING_MS) });
    const listDiscovery = new ListDiscovery(backend, { fetch, idleTimeoutMs: () => idleTimeoutMs, hold: () => true });
    await listDiscovery.read(over, { now: clock.now(), signal });
    return { name: backend, status: 'ready', ...(listDiscovery.lists && { lists: listDiscovery.lists }) };
  } catch (error) {
    return notListed(backend, asVmcpError(error));
  } finally {
    timer.cancel();
    if (over && 'close' in over) void over.close();
  }
};

/** What is told of a backend whose lists cannot be had now. */
export const notListed = (name: string, error: VmcpError): CallerLists => {
  const status = WANTS_LOGIN.has(error.code) ? 'unauthenticated' : 'unavailable';
  return { name, status, message: error.message, error };
};

/** docs/decisions.md "Unavailable backends in lists": such a backend is not down. */
const WANTS_LOGIN: ReadonlySet<VmcpError['code']> = new Set([
  'backend_unauthenticated',
  'login_required',
  'credential_unavailable',
]);

/** As many users as lists are kept of (docs/limits.md). */
const MOST_USERS = 10_000;

/** The users for whom a backend could not be listed when that was tried last, for want of a credential. */
export class UnlistedUsers {
  /** The one that was noted first is forgotten first. */
  readonly #keys = new Set<string>();

  note(key: string, isUnlisted: boolean): void {
    this.#keys.delete(key);
    if (isUnlisted) this.#keys.add(key);
    for (const oldest of this.#keys) {
      if (this.#keys.size <= MOST_USERS) return;
      this.#keys.delete(oldest);
    }
  }

  get size(): number {
    return this.#keys.size;
  }
}
