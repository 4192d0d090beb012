import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { UpstreamTokens } from '../../../../runtime/auth-server/vault/account-record.ts';
import type { TokenVault } from '../../../../runtime/auth-server/vault/vault.ts';
import { VmcpError } from '../../../../runtime/errors.ts';
import type { Clock } from '../../../../runtime/process/clock.ts';
import { memoryStore } from '../../../../runtime/store/memory-store.ts';
import { type Store, storeUnavailable } from '../../../../runtime/store/store.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';
import { RefreshError, USE } from './token-issuer.ts';
import { accountOf, HOUR_MS, identityOf, signInAt, vaultOn } from './vaults.ts';

const OF = accountOf('alice');
const REPLICAS = 3;
const SECRETS = ['a', 'b'].map((letter) => Buffer.alloc(32, letter));

type Step =
  | { readonly kind: 'use' | 'refused' | 'claims'; readonly replica: number }
  | { readonly kind: 'agree' | 'signIn'; readonly replica: number }
  | { readonly kind: 'expire' };

const replica = fc.nat({ max: REPLICAS - 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('use' as const), replica }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('refused' as const, 'claims' as const), replica }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('agree' as const, 'signIn' as const), replica }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('expire' as const) }) },
);

/** What happens to one request to the store, or to the provider. */
const storeFault = fc.constantFrom(undefined, undefined, undefined, 'before' as const, 'after' as const);
const providerFault = fc.constantFrom(undefined, undefined, 'away' as const, 'misconfigured' as const);

type Faults = ('before' | 'after' | undefined)[];

/** A provider that rotates, and takes a refresh token that is used again for a stolen one. */
class Provider {
  readonly #faults: ('away' | 'misconfigured' | undefined)[];
  readonly #now: () => number;
  /** Whether each refresh token is the current one of its sign-in. */
  readonly #tokens = new Map<string, { current: string }>();
  /** Uses of a refresh token after it was rotated. */
  reused = 0;
  #serial = 0;

  constructor(faults: readonly ('away' | 'misconfigured' | undefined)[], now: () => number) {
    this.#faults = [...faults];
    this.#now = now;
  }

  heal(): void {
    this.#faults.splice(0);
  }

  issue(family: { current: string } = { current: '' }): UpstreamTokens {
    this.#serial += 1;
    family.current = `refresh-${this.#serial}`;
    this.#tokens.set(family.current, family);
    const accessToken = `access-${this.#serial}`;
    return { accessToken, refreshToken: family.current, expiresAt: this.#now() + HOUR_MS };
  }

  refresh(refreshToken: string): UpstreamTokens {
    const fault = this.#faults.shift();
    if (fault === 'away') throw new RefreshError('unavailable', 'no answer');
    if (fault === 'misconfigured') throw new RefreshError('refused', 'invalid_client');
    const family = this.#tokens.get(refreshToken);
    if (family?.current === refreshToken) return this.issue(family);
    this.reused += 1;
    throw new RefreshError('refused', 'invalid_grant');
  }
}

/**
 * Answers come in any order, and the store fails now and then, before or after it has done what was asked. Locks are
 * taken and released in any case: one that is left over ends with time, which stands still here.
 */
const unreliable = (store: Store, scheduler: fc.Scheduler, faults: Faults): Store =>
  new Proxy(store, {
    get:
      (target, name: keyof Store) =>
      async (...args: never[]) => {
        const isLock = String(args[0]).startsWith('refresh:');
        await scheduler.schedule(Promise.resolve(), name);
        const fault = isLock && name !== 'createMap' ? undefined : faults.shift();
        if (fault === 'before' || (fault && isLock)) throw storeUnavailable('away');
        const answer = await (target[name] as (...all: never[]) => unknown)(...args);
        await scheduler.schedule(Promise.resolve(), `${name} answers`);
        if (fault === 'after') throw storeUnavailable('away');
        return answer;
      },
  });

/** Timers run at any time. */
const scheduledTimers = (scheduler: fc.Scheduler): Clock['after'] => {
  const after: Clock['after'] = (ms, run) => {
    let isCancelled = false;
    void scheduler.schedule(Promise.resolve(), `after ${ms} ms`).then(() => isCancelled || run());
    return {
      cancel: () => {
        isCancelled = true;
      },
      restart: () => assert.fail('nothing restarts a timer here'),
    };
  };
  return after;
};

const isUnavailable = (error: unknown): boolean =>
  error instanceof VmcpError && ['credential_unavailable', 'store_unavailable'].includes(error.code);

test('no interleaving of uses, refreshes, sign-ins and failures loses or reuses a refresh token', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(step, { minLength: 5, maxLength: 25 }),
      fc.array(storeFault, { minLength: 10, maxLength: 60 }),
      fc.array(providerFault, { maxLength: 8 }),
      async (scheduler, steps, storeFaults, providerFaults) => {
        // The time of locks stands still: their holders live.
        const store = memoryStore({ clock: frozenClock() });
        const time = frozenClock();
        const clock: Clock = { now: time.now, after: scheduledTimers(scheduler) };
        const provider = new Provider(providerFaults, clock.now);
        const upstream = {
          origin: 'origin-1',
          refresh: async (refreshToken: string) => {
            await scheduler.schedule(Promise.resolve(), 'refresh');
            const tokens = provider.refresh(refreshToken);
            await scheduler.schedule(Promise.resolve(), 'refresh answers');
            return tokens;
          },
          revoke: async () => {},
          claimsOf: async ({ accessToken }: UpstreamTokens) => ({ sub: accessToken }),
        };
        let serial = 0;
        const entropy = (bytes: number): Buffer =>
          createHash('sha512')
            .update(String((serial += 1)))
            .digest()
            .subarray(0, bytes);
        // In the middle of a rotation: each replica seals anew what the other one has sealed.
        const vaultOver = (faults: Faults, at: number): TokenVault =>
          vaultOn(
            unreliable(store, scheduler, faults),
            { upstream },
            { clock, entropy, random: () => 0.5, secrets: async () => (at % 2 === 0 ? SECRETS : SECRETS.toReversed()) },
          );
        const faults: Faults = [];
        const replicas = Array.from({ length: REPLICAS }, (_, at) => vaultOver(faults, at));
        const given: string[] = [];
        const act = async (each: Step): Promise<unknown> => {
          await scheduler.schedule(Promise.resolve(), each.kind);
          if (each.kind === 'expire') return time.advance(HOUR_MS);
          const vault = replicas[each.replica] ?? assert.fail();
          if (each.kind === 'claims') return vault.claims(OF);
          if (each.kind === 'agree') return vault.agree(OF.user, (await vault.question(OF.user)).digest);
          if (each.kind === 'signIn') return vault.put(OF, provider.issue(), identityOf('alice'));
          const refused = each.kind === 'refused' ? given.at(-1) : undefined;
          const token = await vault.accessToken(OF, refused === undefined ? USE : { ...USE, refused });
          if (each.kind === 'use') assert.notEqual(token, undefined, 'a user who has signed in is asked to again');
          assert.ok(token === undefined || token !== refused);
          return token !== undefined && given.push(token);
        };
        const [first = assert.fail()] = replicas;
        await scheduler.waitFor(signInAt(first, OF, provider.issue()));
        faults.push(...storeFaults);
        const outcomes = await scheduler.waitFor(Promise.allSettled(steps.map(act)));
        for (const each of outcomes)
          if (each.status === 'rejected') assert.ok(isUnavailable(each.reason), String(each.reason));
        faults.splice(0);
        await scheduler.waitFor(Promise.all(replicas.map((each) => each.close())));
        // Whatever has happened, the account goes on: refreshed once more, by a replica that knows nothing.
        time.advance(2 * HOUR_MS);
        const last = vaultOver([], 0);
        provider.heal();
        assert.equal(typeof (await scheduler.waitFor(last.accessToken(OF, USE))), 'string');
        assert.equal(provider.reused, 0);
      },
    ),
    { numRuns: 100 },
  );
});
