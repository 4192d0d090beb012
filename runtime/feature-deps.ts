import { atMost, type Clock } from './process/index.ts';
import type { FeatureDeps } from './features.ts';
import { guardedFetch } from './http/index.ts';
import { openStore } from './store/index.ts';

export interface OpenedFeatureDeps extends FeatureDeps {
  /**
   * Closes everything that features have opened, in the reverse order; waits at most `CLOSE_MS` for each. Never throws.
   */
  readonly close: () => Promise<void>;
}

export interface GivenDeps extends Omit<FeatureDeps, 'fetchUnder' | 'onStop' | 'openStore'> {
  readonly readFile: (path: string) => Promise<string>;
}

/** Makes the dependencies of features, and closes what they have opened. */
export const featureDepsOf = ({
  readFile,
  config,
  clock,
  steadyNow,
  random,
  log,
  meter,
  replicaId,
  readSecret,
  readBytes,
  entropy,
  store,
  machine,
}: GivenDeps): OpenedFeatureDeps => {
  const secrets = { readSecret, readBytes, entropy };
  const given = { config, clock, steadyNow, random, log, meter, replicaId, store, machine, ...secrets };
  // Sets keep the order of insertion.
  const closers = new Set<() => Promise<void>>();
  return {
    ...given,
    fetchUnder: (policy, { caBundlePath } = {}) => {
      const caBundle = caBundlePath === undefined ? undefined : { path: caBundlePath, readFile };
      const client = guardedFetch(policy, { ...given, caBundle });
      const close = (): Promise<void> => {
        closers.delete(close);
        return client.close();
      };
      closers.add(close);
      return { ...client, close };
    },
    openStore: (settings, what) => openStore(settings, { ...given, readFile, what }),
    onStop: (close) => void closers.add(close),
    close: async () => {
      for (const close of [...closers].toReversed())
        await inTime(clock, close).catch((err: unknown) => log.error({ err }, 'a feature could not be closed'));
    },
  };
};

/** Time for each, as the process has to end (docs/decisions.md "Graceful stop"). */
const CLOSE_MS = 2_000;

const inTime = async (clock: Clock, close: () => Promise<void>): Promise<void> => {
  if (!(await atMost(clock, CLOSE_MS, close()))) throw new Error(`it did not end in ${CLOSE_MS} ms`);
};
