import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Account, UpstreamTokens } from '../../../../runtime/auth-server/vault/account-record.ts';
import { tokenVault, type TokenVault, type VaultDeps } from '../../../../runtime/auth-server/vault/vault.ts';
import type { Clock } from '../../../../runtime/process/clock.ts';
import { systemClock } from '../../../../runtime/process/system-clock.ts';
import type { Store } from '../../../../runtime/store/store.ts';
import { memoryLog } from '../../../fixtures/memory-log.ts';
import type { TokenIssuer } from './token-issuer.ts';

export const HOUR_MS = 3_600_000;
export const WEEK_MS = 7 * 24 * HOUR_MS;

export const SECRET = Buffer.alloc(32, 's');

/** A vault of one replica, whose only provider is called `corp`. */
export const vaultOn = (
  store: Store,
  issuer: Pick<TokenIssuer, 'upstream'>,
  more: Partial<VaultDeps> = {},
): TokenVault =>
  tokenVault({
    store,
    secrets: async () => [SECRET],
    boundTo: () => 'https://as.example',
    clock: systemClock,
    random: Math.random,
    entropy: randomBytes,
    log: memoryLog().log,
    upstream: (provider) => (provider === 'corp' ? issuer.upstream : undefined),
    recipientsOf: () => new Map([['a', ['https://a.example']]]),
    lifeMs: WEEK_MS,
    ...more,
  });

/** As a login does it: the tokens are kept, then the user agrees to what the page of consent names. */
export const signInAt = async (vault: TokenVault, of: Account, tokens: UpstreamTokens): Promise<void> => {
  await vault.put(of, tokens, identityOf(of.user.replace(/^corp\|/, '')));
  assert.ok(await vault.agree(of.user, (await vault.question(of.user)).digest));
};

export const accountOf = (user: string) => ({ user: `corp|${user}`, provider: 'corp' });
export const identityOf = (user: string) => ({ subject: user, name: `Name of ${user}` });

/** Time that stands still until it is moved, with timers that run. */
export interface SetClock extends Clock {
  readonly advance: (ms: number) => void;
}

export const setClock = (): SetClock => {
  let now = systemClock.now();
  return {
    ...systemClock,
    now: () => now,
    advance: (ms) => {
      now += ms;
    },
  };
};
