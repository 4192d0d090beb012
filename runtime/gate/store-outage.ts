import { asVmcpError } from '../errors.ts';
import type { Log } from '../observe/index.ts';
import type { Clock } from '../process/index.ts';
import type { Bucket, Store, TokenCount } from '../store/index.ts';

/**
 * What limits do while the store that replicas share cannot be asked: `local`, this replica counts alone; `deny`, what
 * is limited is refused; `allow`, nothing is limited.
 */
export type WhenStoreUnavailable = 'local' | 'deny' | 'allow';

type TakeTokens = Store['takeTokens'];

export interface OutageDeps {
  readonly shared: TakeTokens;
  readonly local: TakeTokens;
  readonly whenStoreUnavailable: () => WhenStoreUnavailable;
  /** An access is decided without the shared store. */
  readonly onOutage: (policy: WhenStoreUnavailable) => void;
  readonly log: Pick<Log, 'warn'>;
  readonly now: Clock['now'];
}

/** One line in this time, however many calls there are. */
const LOG_INTERVAL_MS = 60_000;

/** Takes tokens from the shared store; where that throws `store_unavailable`, does as the setting says. */
export const takeDespiteOutage = (deps: OutageDeps): TakeTokens => {
  const { shared, local, whenStoreUnavailable, onOutage, log, now } = deps;
  let toldAt = -Infinity;
  let count = 0;
  const tell = (policy: WhenStoreUnavailable, detail: string | undefined): void => {
    count += 1;
    if (Math.abs(now() - toldAt) < LOG_INTERVAL_MS) return;
    toldAt = now();
    log.warn({ count, whenStoreUnavailable: policy, detail }, 'rate limits without their store');
    count = 0;
  };
  const despite = (thrown: unknown, buckets: readonly Bucket[]): ReturnType<TakeTokens> => {
    const { code, detail } = asVmcpError(thrown);
    if (code !== 'store_unavailable') throw thrown;
    const policy = whenStoreUnavailable();
    onOutage(policy);
    tell(policy, detail);
    if (policy === 'deny') throw thrown;
    return policy === 'allow' ? { waitMs: 0 } : local(buckets);
  };
  return (buckets) => {
    const taken = shared(buckets);
    return taken instanceof Promise ? taken.catch((error: unknown) => despite(error, buckets)) : taken;
  };
};

/** Counts of buckets, and what counts in place of a shared store that cannot be asked. */
export type CountTokens = (buckets: readonly Bucket[]) => Promise<{
  readonly counts: readonly TokenCount[];
  readonly outage?: 'local' | 'allow' | undefined;
}>;

export interface CountDeps {
  readonly shared: Store['countTokens'];
  readonly local: Store['countTokens'];
  readonly whenStoreUnavailable: () => WhenStoreUnavailable;
}

/** Counts tokens where `takeDespiteOutage` would take them. Throws `store_unavailable` under `deny`. */
export const countDespiteOutage =
  ({ shared, local, whenStoreUnavailable }: CountDeps): CountTokens =>
  async (buckets) => {
    try {
      return { counts: await shared(buckets) };
    } catch (thrown) {
      const outage = whenStoreUnavailable();
      if (asVmcpError(thrown).code !== 'store_unavailable' || outage === 'deny') throw thrown;
      return { outage, counts: outage === 'allow' ? [] : await local(buckets) };
    }
  };
