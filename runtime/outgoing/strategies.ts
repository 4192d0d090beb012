import type { StrategyConfig } from '../config/index.ts';
import type { Prove } from './fetch.ts';
import { unauthenticated } from './unauthenticated.ts';

/** What a strategy's part of the configuration becomes on the wire. */
type Connect = (config: StrategyConfig) => Prove;

/** One line per strategy; what is missing here, the configuration refuses as not supported yet. */
const strategies: Readonly<Partial<Record<StrategyConfig['type'], Connect>>> = {
  unauthenticated: () => unauthenticated,
};

/** The strategy ready for use. Throws for one that does not exist: a backend is never contacted without what it asks for. */
export const connectStrategy: Connect = (config) => {
  const connect = strategies[config.type];
  if (!connect) throw new Error(`no outgoing strategy ${config.type}`);
  return connect(config);
};
