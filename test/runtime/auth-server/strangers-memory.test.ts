import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { test, type TestContext } from 'node:test';
import type { AdapterPayload } from 'oidc-provider';
import { records } from '../../../runtime/auth-server/grants/records.ts';
import type { Sealer } from '../../../runtime/auth-server/grants/sealed.ts';
import { HEAD_BYTES } from '../../../runtime/auth-server/keys/sealing-keys.ts';
import { sealerFor } from '../../../runtime/auth-server/keys/sealer.ts';
import { Logins } from '../../../runtime/auth-server/login/logins.ts';
import { LOGIN_MS } from '../../../runtime/auth-server/provider/provider.ts';
import { GRANTS } from '../../../runtime/auth-server/store-prefixes.ts';
import { SEAL_BYTES } from '../../../runtime/process/index.ts';
import { memoryStore } from '../../../runtime/store/memory-store.ts';
import { prefixed } from '../../../runtime/store/prefixed.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { hasCode } from '../store/has-code.ts';

const MIB = 1024 * 1024;

/** What all bounds of what strangers leave behind come to (docs/limits.md "Authorization server"). */
const OF_STRANGERS = { entries: 31_000, bytes: 160 * MIB };

const ISSUER = 'https://as.example';
const secrets = async () => [Buffer.alloc(32, 'a secret')];

/** What it makes is as long as what is sealed: sealing all of this takes a minute. */
const ofTheSameLength: Sealer = {
  seal: async (_what, _id, value) => Buffer.alloc(HEAD_BYTES + SEAL_BYTES + JSON.stringify(value).length),
  open: async () => undefined,
  isCurrent: async () => true,
};

/** Whatever the authorization server keeps for those who have not signed in, in a store with these limits. */
const given = (context: TestContext, limits: typeof OF_STRANGERS) => {
  const clock = frozenClock();
  const store = memoryStore({ clock }, limits);
  context.after(() => store.close());
  const keys = { secrets, boundTo: () => ISSUER, clock };
  let sender = '';
  const kept = records({
    store: prefixed(store, GRANTS),
    sealer: ofTheSameLength,
    clock,
    sender: () => sender,
  });
  const logins = new Logins({
    store: prefixed(store, 'login:'),
    sealer: sealerFor('logins', { ...keys, entropy: randomBytes }),
    entropy: randomBytes,
    clock,
    ttlMs: LOGIN_MS,
  });
  return { kept, logins, from: (address: string) => void (sender = address) };
};

/** As long as the id of a record of the library. */
const newId = (): string => randomBytes(32).toString('base64url');

/** A request of a client that is as long as one may be that is kept: in the store it takes 12 KiB. */
const longestRequest = (clientId: string): AdapterPayload => {
  const params = { client_id: clientId, state: '' };
  const rest = JSON.stringify({ params }).length + HEAD_BYTES + SEAL_BYTES;
  return { params: { ...params, state: 'x'.repeat(12 * 1024 - rest) } };
};

/** Three times as much of everything as there is room for, so that each group of each bound is full. */
const fill = async ({ kept, logins, from }: ReturnType<typeof given>): Promise<void> => {
  await assert.rejects(
    kept.save('Interaction', newId(), { params: { ...longestRequest('client-00').params, more: '' } }),
    { error: 'invalid_request' },
  );
  for (let n = 0; n < 30_000; n += 1) {
    from(`192.0.2.${n % 61}`);
    const clientId = `client-${10 + (n % 53)}`;
    await kept.save('Interaction', newId(), longestRequest(clientId), LOGIN_MS / 1_000);
    // By which the proof of a client is known to have been used (RFC 7523 §3); a client that published itself has it.
    const iss = `https://${clientId}.example/`.padEnd(1_024, 'x');
    await kept.save('ReplayDetection', newId(), { iss, kind: 'ReplayDetection', jti: newId() }, 366 * 24 * 3_600);
  }
  const asked = Array.from({ length: 16 }, (_, n) => `provider-${n}`.padEnd(63, 'x'));
  for (let n = 0; n < 10_100; n += 1) {
    const login = await logins.open({ kind: 'client', interaction: newId(), asked }, newId());
    await logins.newRequest(login, asked[0] ?? '');
  }
};

test('all that strangers can leave behind leaves more than a third of a store in memory to users', async (context) => {
  await fill(given(context, OF_STRANGERS));
});

test('and is not much less, so that the figure says something', async (context) => {
  const fewer = { ...OF_STRANGERS, bytes: OF_STRANGERS.bytes * 0.85 };
  await assert.rejects(fill(given(context, fewer)), hasCode('overloaded'));
});

test('the figure is the documented one', async () => {
  const page = await readFile(new URL('../../../docs/limits.md', import.meta.url), 'utf8');
  assert.match(page, new RegExp(`\\| ${OF_STRANGERS.bytes / MIB} MiB of 256 MiB`));
});
