import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { test, type TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { AdapterPayload } from 'oidc-provider';
import { DOCUMENT_BOUNDS, metadataDocuments } from '../../../runtime/auth-server/clients/metadata-documents.ts';
import { records } from '../../../runtime/auth-server/grants/records.ts';
import type { Sealer } from '../../../runtime/auth-server/grants/sealed.ts';
import { HEAD_BYTES } from '../../../runtime/auth-server/keys/sealing-keys.ts';
import { sealerFor } from '../../../runtime/auth-server/keys/sealer.ts';
import { Logins } from '../../../runtime/auth-server/login/logins.ts';
import { LOGIN_MS } from '../../../runtime/auth-server/provider/provider.ts';
import { GRANTS } from '../../../runtime/auth-server/store-prefixes.ts';
import { SEAL_BYTES } from '../../../runtime/process/index.ts';
import type { GuardedFetch } from '../../../runtime/http/guarded-fetch.ts';
import { memoryStore } from '../../../runtime/store/memory-store.ts';
import { prefixed } from '../../../runtime/store/prefixed.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { marksInMemory } from '../../fixtures/oauth-clients.ts';
import { hasCode } from '../store/has-code.ts';

const MIB = 1024 * 1024;

/** What all bounds of what strangers leave behind come to (docs/limits.md "Authorization server"). */
const OF_STRANGERS = { entries: 21_000, bytes: 140 * MIB };

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

/** So much of the heap is in use, garbage aside. */
const heapInUse = (): number => {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  assert.ok(typeof collect === 'function');
  for (let times = 0; times < 3; times += 1) collect();
  return process.memoryUsage().heapUsed;
};

const many = <T>(count: number, of: (n: number) => T): readonly T[] => Array.from({ length: count }, (_, n) => of(n));
const withKeys = (keys: readonly object[]): object => ({
  token_endpoint_auth_method: 'private_key_jwt',
  jwks: { keys },
});

/** Documents of clients, each of which might take more of the heap than its text is long. */
const DOCUMENTS: readonly (readonly [what: string, more: object])[] = [
  ['nothing but a long URL', {}],
  ['a key with a member that is a list of objects', withKeys([{ kty: 'RSA', x: many(4_000, () => ({})) }])],
  ['a key with a member that nobody reads', withKeys([{ kty: 'RSA', more: many(4_000, () => ({})) }])],
  ['small keys', withKeys(many(32, (n) => ({ kty: `k${n}`, kid: `i${n}`, x: `x${n}`, y: `y${n}`, n: `n${n}` })))],
  ['a key id of wide characters', withKeys([{ kty: 'RSA', kid: `ĸ${'x'.repeat(60_000)}` }])],
  ['one scope again and again', { scope: 'a-scope-of-some-length '.repeat(2_500) }],
  ['many scopes', { scope: many(256, (n) => `s${n}`).join(' ') }],
  ['many short redirect URIs', { redirect_uris: many(62, (n) => `a:/${n}`) }],
  ['a redirect URI that is refused', { redirect_uris: ['x'.repeat(60_000)] }],
];

for (const [what, more] of DOCUMENTS) {
  test(`documents that strangers name take no more of the heap than there is room for them: ${what}`, async () => {
    const document = { redirect_uris: ['https://a.example/'], token_endpoint_auth_method: 'none', ...more };
    const fetch: GuardedFetch = async ({ url }) => ({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify({ client_id: url, ...document })),
    });
    const clients = metadataDocuments({
      fetch,
      fetchInUse: fetch,
      marks: marksInMemory(),
      clock: frozenClock(),
      waitMs: async () => 0,
    });
    /** A part of a longer text, as it is of a request. */
    const urlOf = (n: number): string => `https://a-${n}.example/`.padEnd(12_000, 'x').slice(0, 1_000);
    const find = async (n: number): Promise<unknown> =>
      clients.find(urlOf(n), '192.0.2.1').catch((refusal: unknown) => refusal);
    await find(0);
    const before = heapInUse();
    for (let n = 1; n <= DOCUMENT_BOUNDS.others.count; n += 1) await find(n);
    const kept = heapInUse() - before;
    // Compiled code and the test itself take part of the heap, too.
    assert.ok(kept < DOCUMENT_BOUNDS.others.bytes + MIB, `${(kept / MIB).toFixed(1)} MiB`);
    await find(0);
  });
}
