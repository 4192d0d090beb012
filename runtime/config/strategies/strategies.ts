import { bearerToken } from './bearer-token.ts';
import { cloudSts } from './cloud-sts.ts';
import { headerInjection } from './header-injection.ts';
import { tokenExchange } from './token-exchange.ts';
import { tokenRelay } from './token-relay.ts';
import { unauthenticated } from './unauthenticated.ts';
import { upstreamInject } from './upstream-inject.ts';

/**
 * Every outgoing strategy. The key is the `type` that an MCPExternalAuthConfig has for it, and the name of its block.
 * The schemas of config, file and CRDs, the checks and the types follow from this list. To add one: its slice here, and
 * what happens on the wire in `runtime/outgoing/strategies.ts`.
 */
export const strategies = {
  unauthenticated,
  headerInjection,
  tokenExchange,
  bearerToken,
  upstreamInject,
  cloudSts,
  tokenRelay,
};
