import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLocalJWKSet, jwtVerify } from 'jose';
import type { JWK } from 'jose';
import { ApiError } from '../../../operator/api/errors.ts';
import { managementKey } from '../../../operator/engine/management-key.ts';
import type { ManagementKey } from '../../../operator/engine/management-key.ts';
import type { KubeObject } from '../../../operator/object.ts';

const now = Date.parse('2026-11-20T12:00:00Z');

/** A namespace with room for one Secret. */
const secrets = () => {
  const stored: KubeObject[] = [];
  return {
    stored,
    api: {
      get: () => Promise.resolve(stored[0]),
      create: (object: KubeObject) => {
        if (stored.length > 0) return Promise.reject(new ApiError(409, { reason: 'AlreadyExists' }));
        stored.push(object);
        return Promise.resolve(object);
      },
    },
  };
};

const keyFrom = (api: ReturnType<typeof secrets>['api']): Promise<ManagementKey> =>
  managementKey('ops', { api, now: () => now }, new AbortController().signal);

const verified = async (token: string, key: ManagementKey, at: number) => {
  const set = createLocalJWKSet({ keys: [...key.publicKeys] as JWK[] });
  return jwtVerify(token, set, { audience: 'uid-1', algorithms: ['EdDSA'], currentDate: new Date(at) });
};

test('a token is good for one server and one minute', async () => {
  const key = await keyFrom(secrets().api);
  const token = await key.token('uid-1');
  const { payload } = await verified(token, key, now);
  assert.equal(payload.iss, 'vmcp-operator');
  assert.equal(Number(payload.exp) - Number(payload.iat), 60);
  await assert.rejects(verified(token, key, now + 61_000), /exp/);
  await assert.rejects(verified(await key.token('uid-2'), key, now), /aud/);
});

test('the private part never leaves the Secret', async () => {
  const key = await keyFrom(secrets().api);
  assert.deepEqual(Object.keys(key.publicKeys[0] ?? {}).toSorted(), ['alg', 'crv', 'kid', 'kty', 'use', 'x']);
});

test('every replica, and the operator after a restart, has the same key', async () => {
  const { api, stored } = secrets();
  const [first, second] = await Promise.all([keyFrom(api), keyFrom(api)]);
  const third = await keyFrom(api);
  assert.equal(stored.length, 1);
  assert.deepEqual(second.publicKeys, first.publicKeys);
  assert.deepEqual(third.publicKeys, first.publicKeys);
  await verified(await third.token('uid-1'), first, now);
});

test('a Secret without the key says what to do', async () => {
  const { api, stored } = secrets();
  stored.push({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'vmcp-operator-management' }, data: {} });
  await assert.rejects(keyFrom(api), /no key key\.json; delete it/);
});
