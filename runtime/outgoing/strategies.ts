import type { StrategyConfig } from '../config/index.ts';
import type { ConnectStrategy } from './strategy.ts';
import { unauthenticated } from './unauthenticated.ts';

/** One line per strategy; what is missing here, the configuration refuses as not supported yet. */
const strategies: Readonly<Partial<Record<StrategyConfig['type'], ConnectStrategy>>> = {
  unauthenticated: () => unauthenticated,
};

/** The strategy ready for use. Throws for one that does not exist: a backend is never contacted without what it asks for. */
export const connectStrategy: ConnectStrategy = (config, deps) => {
  const connect = strategies[config.type];
  if (!connect) throw new Error(`no outgoing strategy ${config.type}`);
  return connect(config, deps);
};
