import { systemClock } from '../../../../runtime/process/system-clock.ts';
import { onRedis } from '../../store/stores.ts';
import { upstreamAt, USE } from './token-issuer.ts';
import { accountOf, vaultOn } from './vaults.ts';

/** A replica of its own that asks for one token, tells it to its parent, and then waits to be killed. */
const { REDIS = '', TOKEN_URL = '', ACCOUNT = '', NOW = '' } = process.env;

const { store } = onRedis([REDIS]);
await store.firstAnswer;
const vault = vaultOn(
  store,
  { upstream: upstreamAt(TOKEN_URL) },
  { clock: { ...systemClock, now: () => Number(NOW) } },
);
process.send?.((await vault.accessToken(accountOf(ACCOUNT), USE)) ?? 'none');
