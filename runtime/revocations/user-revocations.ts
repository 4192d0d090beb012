import { type Clock, sleep } from '../process/index.ts';
import { digest, type Store } from '../store/index.ts';
import { type Ended, NOTHING, sumOf } from './ended.ts';
import { type EndedHere, readReport, readRevocation, reportOf, type Revocation, textOf } from './messages.ts';
import { sharedList } from './shared-list.ts';

export type { Ended } from './ended.ts';

/** Ends what was issued to a user, on all replicas. */
export interface UserRevocations {
  /**
   * Whatever was issued to the user up to now counts no more, here at once, at other replicas within a second. Rejects
   * when the store does not answer, and is to be repeated then.
   */
  readonly revoke: (user: string) => Promise<Revoked>;
  /** Whether what was issued to the user at that time has been ended. Undefined until `isLoaded`: not known. */
  readonly isRevoked: (user: string, issuedAtMs: number) => boolean | undefined;
  /** Resolves when the revocations of other replicas are known here. */
  readonly isLoaded: Promise<void>;
  /** `end` runs for every revocation, whichever replica was asked for it, and tells what was open here. */
  readonly onRevoked: (end: EndOpen) => void;
  readonly close: () => void;
}

export interface Revoked {
  readonly atMs: number;
  /** What was open, at all replicas that have told. */
  readonly ended: Ended;
  /** Those, this one included. */
  readonly replicas: number;
}

/** Ends what is open for the users that are meant. */
export type EndOpen = (isMeant: (user: string) => boolean) => Ended;

export interface UserRevocationsDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Others use the store, too. */
  readonly isShared: boolean;
  /** A revocation is remembered for this time: what is older has ended of itself. */
  readonly keptMs: number;
}

const CHANNEL = 'user-revocations';
const REPORTS = 'user-revocations-ended';
const RETRY_MS = 1_000;
const SWEEP_MS = 60_000;
/** Beyond the time that a revocation is kept, for clocks that differ. */
const MARGIN_MS = 5 * 60_000;
/** Time for other replicas to tell what has ended there. */
const REPORT_MS = 500;

const nameOf = (user: string): string => digest(JSON.stringify(['user', user]));

export const userRevocations = (deps: UserRevocationsDeps): UserRevocations => {
  const { store, clock, isShared } = deps;
  const known = knownRevocations(clock, deps.keptMs + MARGIN_MS);
  const shared = sharedList(store, clock, deps.keptMs + MARGIN_MS);
  const awaited = new Map<string, Ended[]>();
  let endOpen: EndOpen = () => NOTHING;
  /** Undefined: it was known here before. */
  const take = (revocation: Revocation): Ended | undefined =>
    known.note(revocation) ? endOpen((user) => nameOf(user) === revocation.name) : undefined;
  const loading = loadedFrom(shared.read, { store, clock, take });
  const subscriptions = [
    store.subscribe(CHANNEL, (message) => {
      const told = readRevocation(message);
      const ended = told && take(told);
      if (!told || !ended) return;
      // Who has asked says so where a replica has not told; the log of the store says why.
      void store.publish(REPORTS, reportOf({ revocation: textOf(told), ended })).catch(() => {});
    }),
    store.subscribe(REPORTS, (message) => {
      const report: EndedHere | undefined = readReport(message);
      if (report) awaited.get(report.revocation)?.push(report.ended);
    }),
  ];
  void Promise.all(subscriptions.map(({ isLive }) => isLive)).then(loading.load);
  return {
    revoke: async (user) => {
      const revocation = { name: nameOf(user), atMs: known.nextTime(nameOf(user)) };
      const reports = [take(revocation) ?? NOTHING];
      awaited.set(textOf(revocation), reports);
      try {
        await shared.add(revocation);
        await store.publish(CHANNEL, Buffer.from(textOf(revocation)));
        if (isShared) await sleep(clock, REPORT_MS);
      } finally {
        awaited.delete(textOf(revocation));
      }
      return { atMs: revocation.atMs, ended: sumOf(reports), replicas: reports.length };
    },
    isRevoked: (user, issuedAtMs) => {
      if (!loading.isDone()) return undefined;
      return known.size() > 0 && issuedAtMs <= known.timeOf(nameOf(user));
    },
    isLoaded: loading.done,
    onRevoked: (end) => {
      endOpen = end;
    },
    close: () => {
      known.close();
      loading.close();
      for (const { end } of subscriptions) end();
    },
  };
};

/** The newest revocation of each user, for as long as something may be older than it. */
const knownRevocations = (clock: Clock, keptMs: number) => {
  const atMs = new Map<string, number>();
  const timeOf = (name: string): number => atMs.get(name) ?? -Infinity;
  const sweep = (): void => {
    for (const [name, at] of atMs) if (at + keptMs < clock.now()) atMs.delete(name);
    timer = clock.after(SWEEP_MS, sweep);
  };
  let timer = clock.after(SWEEP_MS, sweep);
  return {
    timeOf,
    size: () => atMs.size,
    /** A time after the last one: two revocations of one user in one millisecond are two. */
    nextTime: (name: string): number => Math.max(clock.now(), timeOf(name) + 1),
    /** False: it, or a later one, was known. */
    note: ({ name, atMs: at }: Revocation): boolean => {
      if (at <= timeOf(name)) return false;
      atMs.set(name, at);
      return true;
    },
    close: () => timer.cancel(),
  };
};

interface LoadingDeps {
  readonly store: Pick<Store, 'onState'>;
  readonly clock: Clock;
  readonly take: (revocation: Revocation) => unknown;
}

/** Reads the list until it was read, and again after each outage: what is announced meanwhile is lost. */
const loadedFrom = (read: () => Promise<readonly Revocation[]>, { store, clock, take }: LoadingDeps) => {
  const done = Promise.withResolvers<void>();
  let isDone = false;
  let isClosed = false;
  const load = async (): Promise<void> => {
    try {
      for (const revocation of await read()) take(revocation);
      isDone = true;
      done.resolve();
    } catch {
      // The log of the store says why.
      if (!isClosed) clock.after(RETRY_MS, () => void load());
    }
  };
  const unsubscribe = store.onState((state) => void (state === 'up' && load()));
  return {
    load,
    done: done.promise,
    isDone: () => isDone,
    close: () => {
      isClosed = true;
      unsubscribe();
    },
  };
};
