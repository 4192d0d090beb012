import type { Clock } from '../clock.ts';
import { asVmcpError, VmcpError } from '../errors.ts';
import type { Lists } from '../listed.ts';
import type { Fetch } from '../outgoing/index.ts';
import type { BackendStatus } from '../status-report.ts';
import { Catalogue, type ListLink } from './catalogue.ts';
import type { ProbeBounds } from './era-probe.ts';
import type { BackendSession } from './session.ts';

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
  readonly silenceMs: number;
  /** Speaks for the user. */
  readonly fetch: Fetch;
  /** A link that keeps no state, or a session for this listing alone. */
  readonly link: (bounds: ProbeBounds) => Promise<ListLink | BackendSession>;
}

/** For all lists of one backend together: their user waits for them. */
const LISTING_MS = 10_000;

/** Reads all lists of a backend as one user. Never throws: another backend's lists are shown all the same. */
export const listFor = async ({ backend, clock, silenceMs, fetch, link }: CallerListing): Promise<CallerLists> => {
  const enough = new AbortController();
  const timer = clock.after(LISTING_MS, () =>
    enough.abort(new VmcpError('backend_timeout', `backend "${backend}" did not list in time`)),
  );
  const { signal } = enough;
  let over: ListLink | BackendSession | undefined;
  try {
    over = await link({ clock, fetch, signal, silenceMs: Math.min(silenceMs, LISTING_MS) });
    const catalogue = new Catalogue(backend, { fetch, silenceMs: () => silenceMs, hold: () => true });
    await catalogue.read(over, { now: clock.now(), signal });
    return { name: backend, status: 'ready', ...(catalogue.lists && { lists: catalogue.lists }) };
  } catch (error) {
    const refusal = asVmcpError(error);
    const status = WANTS_LOGIN.has(refusal.code) ? 'unauthenticated' : 'unavailable';
    return { name: backend, status, message: refusal.message, error: refusal };
  } finally {
    timer.cancel();
    if (over && 'close' in over) void over.close();
  }
};

/** decisions, `partialFailureMode`: such a backend is not down. */
const WANTS_LOGIN: ReadonlySet<VmcpError['code']> = new Set([
  'backend_unauthenticated',
  'login_required',
  'credential_unavailable',
]);
