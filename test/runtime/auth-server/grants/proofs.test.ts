import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import { type CryptoKey, generateKeyPair, SignJWT } from 'jose';
import { recordProof } from '../../../../runtime/auth-server/grants/proofs.ts';
import { memoryStore } from '../../../../runtime/store/memory-store.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';
import { authorize, redeem, refresh, refreshTokenOf, revoke, type TokenAnswer } from './client.ts';
import { CLIENT_KEY, ISSUER, KEYED_CLIENTS, startReplica } from './provider.ts';
import { onTwoReplicas } from './two-replicas.ts';

const [KEYED = '', OTHER = ''] = KEYED_CLIENTS;

interface Assertion {
  readonly client?: string;
  readonly audience?: string;
  readonly seconds?: number;
  readonly jti?: string;
  readonly key?: CryptoKey;
}

/** The parameters by which a client proves itself. */
const proof = async (how: Assertion = {}) => {
  const { client = KEYED, audience = ISSUER, seconds = 60, jti = randomUUID(), key = CLIENT_KEY.privateKey } = how;
  const assertion = await new SignJWT({ iss: client, sub: client, aud: audience, jti })
    .setProtectedHeader({ alg: 'ES256', kid: 'a-client' })
    .setIssuedAt()
    .setExpirationTime(Math.floor(Date.now() / 1_000) + seconds)
    .sign(key);
  return {
    client,
    client_assertion: assertion,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  };
};

type Proof = Awaited<ReturnType<typeof proof>>;

const verdict = ({ status, body }: TokenAnswer): readonly unknown[] => [status, body['error']];
const REFUSED = [401, 'invalid_client'];
const FULL = [503, 'temporarily_unavailable'];

const codeFor = async (server: string, user: string, client = KEYED): Promise<string> =>
  (await authorize(server, { user, client })).code;

const redeemWith = (server: string, code: string, { client, ...form }: Proof): Promise<TokenAnswer> =>
  redeem(server, code, client, form);

/** A refresh token of the user. */
const tokenFor = async (server: string, user: string, client = KEYED): Promise<string> => {
  const answer = await redeemWith(server, await codeFor(server, user, client), await proof({ client }));
  assert.equal(answer.status, 200, answer.text);
  return refreshTokenOf(answer);
};

/** A request about this refresh token that leaves it as it is: its scope is none of the token's. */
const FRUITLESS = { scope: 'admin' };
const useUp = async (server: string, token: string, count: number): Promise<readonly Proof[]> => {
  const proofs = await Promise.all(Array.from({ length: count }, () => proof({ seconds: 300 })));
  for (const each of proofs)
    assert.deepEqual(verdict(await refresh(server, token, { ...each, ...FRUITLESS })), [400, 'invalid_scope']);
  return proofs;
};

/** Beside the one by which the refresh token was got. */
const MORE = 63;

onTwoReplicas('an assertion of a client', (replicas) => {
  test('counts once: at any replica, for any user, for a code as for a refresh token', async () => {
    const { a, b } = replicas();
    const [first, other] = [await tokenFor(a, 'olivia'), await tokenFor(a, 'oscar')];
    const used = await proof();
    const second = await refresh(a, first, used);
    assert.equal(second.status, 200, second.text);
    for (const token of [first, refreshTokenOf(second), other])
      for (const server of [a, b]) assert.deepEqual(verdict(await refresh(server, token, used)), REFUSED);
    assert.deepEqual(verdict(await redeemWith(b, await codeFor(a, 'olivia'), used)), REFUSED);
    assert.equal((await refresh(b, refreshTokenOf(second), await proof())).status, 200);
  });

  test('counts once among requests at the same moment', async () => {
    const { a, b } = replicas();
    const token = await tokenFor(a, 'ophelia');
    const used = await proof();
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => refresh(n % 2 === 0 ? a : b, token, used)));
    const granted = answers.filter(({ status }) => status === 200);
    assert.equal(granted.length, 1);
    for (const each of answers.filter((answer) => !granted.includes(answer))) assert.deepEqual(verdict(each), REFUSED);
  });

  test('takes no place before its signature, audience and end have been verified', async () => {
    const { a } = replicas();
    const token = await tokenFor(a, 'otto');
    const { privateKey: stranger } = await generateKeyPair('ES256');
    const wrong: readonly Assertion[] = [{ key: stranger }, { audience: 'https://other.example' }, { seconds: -60 }];
    for (const each of wrong) {
      const jti = randomUUID();
      // More often than there are places.
      for (let n = 0; n < 30; n += 1)
        assert.deepEqual(verdict(await refresh(a, token, await proof({ ...each, jti }))), REFUSED);
      assert.deepEqual(verdict(await refresh(a, token, { ...(await proof({ jti })), ...FRUITLESS })), [
        400,
        'invalid_scope',
      ]);
    }
    assert.equal((await refresh(a, token, await proof())).status, 200);
  });

  test('takes no place for a request that gets nothing: without a grant, or with that of another client', async () => {
    const { a } = replicas();
    const [token, foreign] = [await tokenFor(a, 'ottilie'), await tokenFor(a, 'ottilie', OTHER)];
    for (let n = 0; n < MORE + 2; n += 1) {
      const { client, ...form } = await proof();
      assert.deepEqual(verdict(await redeem(a, 'none', client, form)), [400, 'invalid_grant']);
      assert.deepEqual(verdict(await refresh(a, foreign, await proof())), [400, 'invalid_grant']);
    }
    assert.equal((await refresh(a, token, await proof())).status, 200);
  });

  test('has so many places for each client and user; beyond, that client waits, and nothing is forgotten', async () => {
    const { a, b } = replicas();
    const [token, ofOtherClient] = [await tokenFor(a, 'odette'), await tokenFor(a, 'odette', OTHER)];
    const ofOtherUser = await tokenFor(a, 'odo');
    const used = await useUp(a, token, MORE);
    const full = await refresh(b, token, await proof());
    assert.deepEqual(verdict(full), FULL);
    assert.ok(Number(full.headers.get('retry-after')) > 0);
    for (const each of used) assert.deepEqual(verdict(await refresh(b, token, each)), REFUSED);
    assert.equal((await refresh(b, ofOtherUser, await proof())).status, 200);
    assert.equal((await refresh(b, ofOtherClient, await proof({ client: OTHER }))).status, 200);
  });

  test('is refused when it is valid for more than an hour, by the clock of a client that may be ahead', async () => {
    const { a } = replicas();
    const token = await tokenFor(a, 'orson');
    const answer = await refresh(a, token, await proof({ seconds: 3_700 }));
    assert.deepEqual(verdict(answer), REFUSED);
    assert.equal((await refresh(a, token, await proof({ seconds: 3_610 }))).status, 200);
  });
});

/** A replica with a clock that stands still. */
const startAlone = async (context: TestContext) => {
  const clock = frozenClock(Date.now());
  const store = memoryStore({ clock });
  const { url, stop } = await startReplica({ store, clock });
  context.after(async () => {
    await stop();
    await store.close();
  });
  return { url, clock };
};

test('a place is free again when its assertion has expired, and the refresh token is still good', async (context) => {
  const { url, clock } = await startAlone(context);
  const token = await tokenFor(url, 'oleg');
  await useUp(url, token, MORE);
  clock.advance(299_000);
  // The one by which the token was got has expired, and no other.
  assert.deepEqual(verdict(await refresh(url, token, { ...(await proof()), ...FRUITLESS })), [400, 'invalid_scope']);
  assert.deepEqual(verdict(await refresh(url, token, await proof())), FULL);
  // The tolerance of the library, and the difference of clocks.
  clock.advance(77_000);
  assert.equal((await refresh(url, token, await proof())).status, 200);
});

test('an assertion counts once for a replica whose clock is behind, too, and accepts it longer', async (context) => {
  const { url, clock } = await startAlone(context);
  const token = await tokenFor(url, 'orla');
  const used = await proof({ seconds: 60 });
  assert.deepEqual(verdict(await refresh(url, token, { ...used, ...FRUITLESS })), [400, 'invalid_scope']);
  // The library reads the time of this machine, at which the assertion has not expired yet.
  clock.advance((60 + 15 + 50) * 1_000);
  assert.deepEqual(verdict(await refresh(url, token, used)), REFUSED);
});

const OVERLOADED = { code: 'overloaded' };

test('so many assertions of all clients are recorded for one user, and none of them is forgotten', async (context) => {
  const clock = frozenClock();
  const store = memoryStore({ clock });
  context.after(() => store.close());
  const record = (client: number, n: number, user = 'oren') =>
    recordProof({ clientId: `client ${client}`, id: `assertion ${n}`, user, seconds: 3_615 }, { store });
  for (let client = 0; client < 16; client += 1)
    for (let n = 0; n < 64; n += 1) assert.equal(await record(client, n), true);
  await assert.rejects(record(0, 64), OVERLOADED);
  for (let client = 16; client < 40; client += 1) await assert.rejects(record(client, 0), OVERLOADED);
  for (let client = 0; client < 16; client += 1) assert.equal(await record(client, 63), false);
  assert.equal(await record(16, 0, 'olive'), true);
  clock.advance(3_615_000 + 60_000);
  for (let n = 0; n < 64; n += 1) assert.equal(await record(17, n), true, 'what was refused has left nothing');
});

test('an assertion by which a token was revoked is used up', async (context) => {
  const { url } = await startAlone(context);
  const [first, second] = [await tokenFor(url, 'olaf'), await tokenFor(url, 'olaf')];
  const { client, ...form } = await proof();
  assert.equal((await revoke(url, first, client, form)).status, 200);
  assert.deepEqual(verdict(await revoke(url, second, client, form)), REFUSED);
  assert.equal((await refresh(url, second, await proof())).status, 200);
});
