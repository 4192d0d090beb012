import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ClientError } from '../../../../runtime/auth-server/clients/client-error.ts';
import { type Keys, openKeys } from '../../../../runtime/auth-server/keys/keys.ts';
import { sealerFor } from '../../../../runtime/auth-server/keys/sealer.ts';
import { SECRET_SPREAD_MS } from '../../../../runtime/auth-server/keys/sealing-keys.ts';
import { startAuthorizationEndpoint } from '../../../fixtures/authorization-endpoint.ts';
import { type FrozenClock, frozenClock } from '../../../fixtures/frozen-clock.ts';
import { ISSUER, secretOf, startClients } from '../../../fixtures/oauth-clients.ts';

const [older, newer] = [secretOf('older'), secretOf('newer')];
const REDIRECT = 'http://localhost:3118/callback';

/** A replica and the files that its Secret is mounted as. */
interface Replica {
  readonly keys: Keys;
  readonly clients: ReturnType<typeof startClients>;
  readonly mount: (...secrets: readonly Buffer[]) => void;
}

const replicaWith = (clock: FrozenClock, isShared: boolean, ...first: readonly Buffer[]): Replica => {
  let mounted = first;
  const keys = openKeys(() => ({ signing: [], hmac: mounted.map((_secret, at) => `${at}`) }), {
    readSecret: async () => undefined,
    readBytes: async (path) => mounted[Number(path)],
    clock,
    isShared,
    made: { current: () => Promise.reject(new Error('no keys are made')), close: () => {} },
  });
  return {
    keys,
    clients: startClients({ secrets: keys.secrets, clock }),
    mount: (...secrets) => {
      mounted = secrets;
      // Files are read anew after two seconds.
      clock.advance(2_000);
    },
  };
};

const registeredAt = async ({ clients }: Replica): Promise<string> =>
  (await clients.registered({ redirect_uris: [REDIRECT] })).client_id;

const isKnownAt = async ({ clients }: Replica, id: string): Promise<boolean> =>
  (await clients.findClient(id)) !== undefined;

describe('two replicas, of which one has a new HMAC secret a while before the other', () => {
  let clock: FrozenClock;
  const replicas: Replica[] = [];
  const replica = (...secrets: readonly Buffer[]): Replica => {
    const started = replicaWith(clock, true, ...secrets);
    replicas.push(started);
    return started;
  };
  before(() => {
    clock = frozenClock();
  });
  after(() => {
    for (const { keys } of replicas) keys.close();
  });

  test('know the clients of each other all the time, where the older secret stays in the list', async () => {
    const [a, b] = [replica(older), replica(older)];
    await Promise.all([a, b].map(({ keys }) => keys.secrets()));
    a.mount(newer, older);
    for (let waited = 0; waited < SECRET_SPREAD_MS; waited += 10_000) {
      if (waited === 170_000) b.mount(newer, older);
      assert.ok(await isKnownAt(b, await registeredAt(a)), `${waited} ms`);
      assert.ok(await isKnownAt(a, await registeredAt(b)), `${waited} ms`);
      clock.advance(10_000);
    }
    const after = await registeredAt(a);
    assert.ok(await isKnownAt(b, after));
    b.mount(newer);
    assert.ok(await isKnownAt(b, after), 'a client of after the spread belongs to the newer secret');
  });

  test('open what the other one seals all the time, records of grants and logins alike', async () => {
    const [a, b] = [replica(older), replica(older)];
    const sealerAt = ({ keys: { secrets } }: Replica) =>
      sealerFor('records', { secrets, boundTo: () => ISSUER, clock, entropy: secretBytes });
    await Promise.all([a, b].map(({ keys }) => keys.secrets()));
    a.mount(newer, older);
    const sealed = await sealerAt(a).seal(Buffer.from('text'), 'a record');
    assert.equal(String(await sealerAt(b).unseal(sealed, 'a record')), 'text');
  });

  test('wait with a secret that was second in the list for too short a time', async () => {
    const [a, b] = [replica(older), replica(older)];
    await Promise.all([a, b].map(({ keys }) => keys.secrets()));
    a.mount(older, newer);
    await a.keys.secrets();
    clock.advance(SECRET_SPREAD_MS - 10_000);
    a.mount(newer, older);
    assert.ok(await isKnownAt(b, await registeredAt(a)));
    clock.advance(10_000);
    assert.deepEqual((await a.keys.secrets())[0], newer);
  });

  test('answer 503 to a client of the other one while its secret is on its way, and 401 when it does not come', async () => {
    const [a, b] = [replica(newer, older), replica(older)];
    const id = await registeredAt(a);
    const endpoint = await startAuthorizationEndpoint(b.clients.findClient);
    try {
      const refused = await b.clients.findClient(id).catch((error: unknown) => error);
      assert.ok(refused instanceof ClientError);
      assert.deepEqual([refused.statusCode, refused.error], [503, 'temporarily_unavailable']);
      assert.equal(refused.retryAfterSeconds, 10);
      const asked = await endpoint.authorize({ client_id: id, redirect_uri: REDIRECT });
      assert.deepEqual([asked.outcome, asked.status, asked.sentTo], ['refused', 503, undefined]);
      assert.equal((await endpoint.redeem({ client_id: id, redirect_uri: REDIRECT })).status, 503);
      b.mount(newer, older);
      assert.ok(await isKnownAt(b, id));
      b.mount(older);
      clock.advance(SECRET_SPREAD_MS);
      assert.equal(await isKnownAt(b, id), false);
    } finally {
      await endpoint.close();
    }
  });

  test('take a secret at once that replaces the only one, or that they have at their start', async () => {
    const a = replica(older);
    await a.keys.secrets();
    a.mount(newer);
    assert.deepEqual(await a.keys.secrets(), [newer]);
    assert.deepEqual(await replica(newer, older).keys.secrets(), [newer, older]);
  });
});

test('a replica on its own takes a new secret at once', async () => {
  const clock = frozenClock();
  const alone = replicaWith(clock, false, older);
  await alone.keys.secrets();
  alone.mount(newer, older);
  assert.deepEqual(await alone.keys.secrets(), [newer, older]);
  alone.keys.close();
});

const secretBytes = (bytes: number): Buffer => secretOf('a nonce').subarray(0, bytes);
