import type { FeatureDeps } from './features.ts';
import { guardedFetch } from './guarded-fetch.ts';

export interface OpenedFeatureDeps extends FeatureDeps {
  /** Everything that features have opened, in the reverse order. Never throws. */
  readonly close: () => Promise<void>;
}

/** What features are made of, with what has to be closed after them. */
export const featureDepsOf = (given: Omit<FeatureDeps, 'fetchUnder' | 'onStop'>): OpenedFeatureDeps => {
  const closers: (() => Promise<void>)[] = [];
  return {
    ...given,
    fetchUnder: (policy) => {
      const { fetch, close } = guardedFetch(policy, given);
      closers.push(close);
      return fetch;
    },
    onStop: (close) => void closers.push(close),
    close: async () => {
      for (const close of closers.toReversed())
        await close().catch((error: unknown) => given.log.error({ err: error }, 'a feature could not be closed'));
    },
  };
};
