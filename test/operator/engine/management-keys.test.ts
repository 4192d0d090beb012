import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLocalJWKSet, jwtVerify } from 'jose';
import type { JWK } from 'jose';
import { ApiError } from '../../../operator/api/errors.ts';
import { managementKeys } from '../../../operator/engine/management-keys.ts';
import type { ManagementKeys } from '../../../operator/engine/management-keys.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { manualClock } from './manual-clock.ts';
import type { ManualClock } from './manual-clock.ts';

const start = Date.parse('2026-11-20T12:00:00Z');
const minute = 60_000;
const day = 24 * 60 * minute;
const signal = new AbortController().signal;

/** A namespace with room for one Secret. */
const secrets = () => {
  const stored: KubeObject[] = [];
  return {
    stored,
    api: {
      get: () => Promise.resolve(stored[0]),
      createOwned: (object: KubeObject) => {
        if (stored.length > 0) return Promise.reject(new ApiError(409, { reason: 'AlreadyExists' }));
        stored.push(object);
        return Promise.resolve(object);
      },
    },
  };
};

const keysFrom = (api: ReturnType<typeof secrets>['api'], clock = manualClock(start)): Promise<ManagementKeys> =>
  managementKeys('ops', { api, now: clock.now }, signal);

type PublicKeys = ReturnType<ManagementKeys['publicKeys']>;

const verified = async (token: string, publicKeys: PublicKeys, at: number) => {
  const set = createLocalJWKSet({ keys: [...publicKeys] as JWK[] });
  return jwtVerify(token, set, { audience: 'uid-1', algorithms: ['EdDSA'], currentDate: new Date(at) });
};

test('a token is good for one server and one minute', async () => {
  const keys = await keysFrom(secrets().api);
  const token = await keys.token('uid-1');
  const { payload } = await verified(token, keys.publicKeys(), start);
  assert.equal(payload.iss, 'vmcp-operator');
  assert.equal(Number(payload.exp) - Number(payload.iat), 60);
  await assert.rejects(verified(token, keys.publicKeys(), start + 61_000), /exp/);
  await assert.rejects(verified(await keys.token('uid-2'), keys.publicKeys(), start), /aud/);
});

test('the private part never leaves the Secret', async () => {
  const keys = await keysFrom(secrets().api);
  assert.deepEqual(Object.keys(keys.publicKeys()[0] ?? {}).toSorted(), ['alg', 'crv', 'kid', 'kty', 'use', 'x']);
});

test('every replica, and the operator after a restart, has the same key', async () => {
  const { api, stored } = secrets();
  const [first, second] = await Promise.all([keysFrom(api), keysFrom(api)]);
  const third = await keysFrom(api);
  assert.equal(stored.length, 1);
  assert.deepEqual(second.publicKeys(), first.publicKeys());
  assert.deepEqual(third.publicKeys(), first.publicKeys());
  await verified(await third.token('uid-1'), first.publicKeys(), start);
  assert.ok(third.mac.verify(first.mac.sign('text'), 'text'));
  assert.ok(!third.mac.verify(first.mac.sign('text'), 'another'));
});

test('a Secret without keys says what to do, and the known ones stay', async () => {
  const { api, stored } = secrets();
  const keys = await keysFrom(api);
  const before = keys.publicKeys();
  for (const text of ['', '{', '{"keys":[]}', '{"keys":[{"madeAt":"2026-01-01T00:00:00Z","jwk":{"kty":"RSA"}}]}']) {
    const data = { 'keys.json': Buffer.from(text).toString('base64') };
    stored[0] = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'vmcp-operator-management' }, data };
    await assert.rejects(keysFrom(api), /no keys in keys\.json; delete it/);
    await assert.rejects(keys.refresh(signal), /no keys/);
  }
  assert.deepEqual(keys.publicKeys(), before);
});

/** Keys whose Secret is deleted after an hour. */
const rotated = async (): Promise<{
  readonly keys: ManagementKeys;
  readonly clock: ManualClock;
  readonly old: PublicKeys;
  readonly api: ReturnType<typeof secrets>['api'];
}> => {
  const clock = manualClock(start);
  const { api, stored } = secrets();
  const keys = await keysFrom(api, clock);
  const old = keys.publicKeys();
  await clock.advance(60 * minute);
  stored.length = 0;
  assert.equal(await keys.refresh(signal), true);
  return { keys, clock, old, api };
};

test('a deleted Secret is made anew with a new key; pods accept the old one for a day', async () => {
  const { keys, clock, old, api } = await rotated();
  assert.deepEqual(keys.publicKeys().slice(1), old);
  assert.notDeepEqual(keys.publicKeys()[0], old[0]);
  assert.deepEqual((await keysFrom(api, clock)).publicKeys(), keys.publicKeys(), 'another replica knows both');
  await clock.advance(day - 1);
  assert.equal(await keys.refresh(signal), false);
  await clock.advance(1);
  assert.equal(await keys.refresh(signal), true);
  assert.equal(keys.publicKeys().length, 1);
});

test('a new key signs once pods had the time to read of it', async () => {
  const { keys, clock, old } = await rotated();
  await verified(await keys.token('uid-1'), old, clock.now());
  await clock.advance(2 * minute);
  const [newest] = keys.publicKeys();
  await verified(await keys.token('uid-1'), newest === undefined ? [] : [newest], clock.now());
});

test('keys that another replica wrote into the Secret are taken', async () => {
  const { api, stored } = secrets();
  const keys = await keysFrom(api);
  const other = secrets();
  const theirs = await keysFrom(other.api);
  stored[0] = other.stored[0] ?? assert.fail();
  assert.equal(await keys.refresh(signal), true);
  assert.deepEqual(keys.publicKeys(), theirs.publicKeys());
  assert.equal(await keys.refresh(signal), false);
});
