import type { Log } from '../observe/index.ts';
import { memoryStore } from './memory-store.ts';
import { redisStore, type RedisStoreDeps } from './redis-store.ts';
import type { Store, StoreState } from './store.ts';
import type { StoreSettings } from './store-settings.ts';

export interface OpenStoreDeps extends Omit<RedisStoreDeps, 'onTransition'> {
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** Opens the store of these settings. Returns at once; `firstAnswer` resolves when the store can be used. */
export const openStore = (settings: StoreSettings, deps: OpenStoreDeps): Store => {
  switch (settings.kind) {
    case 'memory':
      return memoryStore(deps);
    case 'redis':
      return redisStore(settings, {
        ...deps,
        onTransition: (state, reason) => logTransition(deps.log, state, reason),
      });
    default:
      return settings satisfies never;
  }
};

const logTransition = (log: OpenStoreDeps['log'], state: StoreState, reason: string): void => {
  if (state === 'up') log.info({}, 'the session store answers');
  else log.warn({ reason }, TROUBLE[state]);
};

const TROUBLE = {
  down: 'the session store is away: requests that need a session are refused until it answers',
  refusing: 'the session store answers commands with errors: requests that need them are refused',
} as const;
