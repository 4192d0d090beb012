import {
  type BlockInFile,
  blockOf,
  type StrategyName,
  strategyNameOf,
  type SupportedStrategy,
} from '../config/index.ts';
import { cloudSts } from './cloud-sts/connect.ts';
import type { ConnectStrategy, Strategy, StrategyDeps } from './strategy.ts';
import { bearerToken } from './bearer-token.ts';
import { headerInjection } from './header-injection.ts';
import { tokenExchange } from './token-exchange/connect.ts';
import { tokenRelay } from './token-relay.ts';
import { unauthenticated } from './unauthenticated.ts';
import { upstreamInject } from './upstream-inject.ts';

/**
 * What each strategy does on the wire, one line per strategy. The compiler asks for every strategy that the
 * configuration calls supported (`runtime/config/strategies`); the configuration refuses the others as not supported
 * yet.
 */
const strategies: Connectors = {
  unauthenticated,
  headerInjection,
  bearerToken,
  tokenExchange,
  upstreamInject,
  cloudSts,
  tokenRelay,
};

type Connectors = { readonly [Name in SupportedStrategy]: Connect<BlockInFile<Name>> };

/** `block`: what the file says beside `type`. Opens nothing yet. Throws where the backend cannot be served so. */
type Connect<Block> = (block: Block, deps: StrategyDeps) => Strategy;

/**
 * The strategy ready for use. Throws for an unknown one: no backend is contacted without the credential it asks for.
 */
export const connectStrategy: ConnectStrategy = (config, deps) => {
  const name = strategyNameOf(config.type);
  // By a name that is known at run time only. The schema has checked that the block of the type is there.
  const known: Partial<Record<StrategyName, Connect<never>>> = strategies;
  const connect = name && known[name];
  if (!connect) throw new Error(`no outgoing strategy ${config.type}`);
  return connect(blockOf(config, name) as never, deps);
};
