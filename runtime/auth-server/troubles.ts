import type { Log } from '../observe/index.ts';
import type { Clock } from '../process/index.ts';
import type { AuthServerReport } from '../status/index.ts';
import type { Store } from '../store/index.ts';

/** What the authorization server cannot work without, beside its store. */
export type Needed = 'signing keys' | 'HMAC secrets';

/** What keeps the authorization server from working: every request that needs it is answered with 503. */
export interface Troubles {
  /** `reason`, without a secret: why they cannot be used; undefined: they can. */
  readonly tell: (needed: Needed, reason: string | undefined) => void;
  readonly report: () => AuthServerReport;
}

export interface TroublesDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Pick<Log, 'error' | 'info'>;
  /** Has log lines of its own. */
  readonly store: Pick<Store, 'state' | 'onState'>;
}

export const troubles = ({ clock, log, store }: TroublesDeps): Troubles => {
  const ofKeys = new Map<Needed, string>();
  let ofStore: StoreState = { isUp: store.state() === 'up' };
  let told: AuthServerReport = reportOf(ofKeys, ofStore, clock.now());
  const changed = (): void => void (told = reportOf(ofKeys, ofStore, clock.now()));
  store.onState((state, reason) => {
    ofStore = { isUp: state === 'up', reason };
    changed();
  });
  return {
    tell: (needed, reason) => {
      if (ofKeys.get(needed) === reason) return;
      if (reason === undefined) {
        ofKeys.delete(needed);
        log.info({ needed }, 'the authorization server can use its keys again');
      } else {
        ofKeys.set(needed, reason);
        log.error(
          { needed, reason },
          'the authorization server cannot use its keys, and answers with 503 until it can',
        );
      }
      changed();
    },
    report: () => told,
  };
};

interface StoreState {
  readonly isUp: boolean;
  readonly reason?: string | undefined;
}

const reportOf = (ofKeys: ReadonlyMap<Needed, string>, ofStore: StoreState, atMs: number): AuthServerReport => {
  const since = new Date(atMs).toISOString();
  if (ofKeys.size > 0) return { state: 'keys-unusable', since, reason: [...ofKeys.values()].join('; ') };
  if (ofStore.isUp) return { state: 'up', since };
  return { state: 'store-away', since, ...(ofStore.reason !== undefined && { reason: ofStore.reason }) };
};
