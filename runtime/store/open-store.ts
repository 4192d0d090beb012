import type { Log } from '../observe/index.ts';
import { memoryStore } from './memory-store.ts';
import { redisStore, type RedisStoreDeps } from './redis-store.ts';
import type { Store, StoreState } from './store.ts';
import type { StoreSettings } from './store-settings.ts';

export interface OpenStoreDeps extends Omit<RedisStoreDeps, 'onTransition'> {
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** What the log calls it. Default: the session store */
  readonly what?: string;
}

/** Opens the store of these settings. Returns at once; `firstAnswer` resolves when the store can be used. */
export const openStore = (settings: StoreSettings, deps: OpenStoreDeps): Store => {
  switch (settings.kind) {
    case 'memory':
      return memoryStore(deps);
    case 'redis':
      return redisStore(settings, {
        ...deps,
        onTransition: (state, reason) => logTransition(deps, state, reason),
      });
    default:
      return settings satisfies never;
  }
};

const logTransition = ({ log, what = 'the session store' }: OpenStoreDeps, state: StoreState, reason: string): void => {
  if (state === 'up') log.info({}, `${what} answers`);
  else log.warn({ reason }, `${what} ${TROUBLE[state]}`);
};

const TROUBLE = {
  down: 'is away: requests that need it are refused until it answers',
  refusing: 'answers commands with errors: requests that need them are refused',
} as const;
