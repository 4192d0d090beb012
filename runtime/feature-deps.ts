import type { FeatureDeps } from './features.ts';
import { guardedFetch } from './guarded-fetch.ts';

export interface OpenedFeatureDeps extends FeatureDeps {
  /** Everything that features have opened, in the reverse order. Never throws. */
  readonly close: () => Promise<void>;
}

export interface GivenDeps extends Omit<FeatureDeps, 'fetchUnder' | 'onStop'> {
  readonly readFile: (path: string) => Promise<string>;
}

/** What features are made of, with what has to be closed after them. */
export const featureDepsOf = ({ readFile, ...deps }: GivenDeps): OpenedFeatureDeps => {
  const { config, clock, random, log, readSecret, store } = deps;
  const given = { config, clock, random, log, readSecret, store };
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
    onStop: (close) => void closers.add(close),
    close: async () => {
      for (const close of [...closers].toReversed())
        await close().catch((error: unknown) => given.log.error({ err: error }, 'a feature could not be closed'));
    },
  };
};
