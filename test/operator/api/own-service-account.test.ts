import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../operator/api/errors.ts';
import { ownServiceAccount } from '../../../operator/api/own-service-account.ts';
import type { Transport } from '../../../operator/api/transport.ts';

const { signal } = new AbortController();

const accountFor = (answer: () => Promise<unknown>) => {
  const transport: Pick<Transport, 'json'> = { json: answer };
  return ownServiceAccount(transport as Transport, 'vmcp-system', signal);
};

const reviewed = (userInfo: object) => (): Promise<unknown> => Promise.resolve({ status: { userInfo } });

test('a service account of the namespace is an owner', async () => {
  const owner = await accountFor(reviewed({ username: 'system:serviceaccount:vmcp-system:vmcp-operator', uid: 'u1' }));
  assert.deepEqual(owner, { apiVersion: 'v1', kind: 'ServiceAccount', name: 'vmcp-operator', uid: 'u1' });
});

for (const [who, username, uid] of [
  ['one of another namespace', 'system:serviceaccount:default:vmcp-operator', 'u1'],
  ['one of a namespace that begins alike', 'system:serviceaccount:vmcp-system-2:vmcp-operator', 'u1'],
  ['a person', 'jane', 'u1'],
  ['an account without a uid', 'system:serviceaccount:vmcp-system:vmcp-operator', undefined],
] as const) {
  test(`${who} owns nothing`, async () => assert.equal(await accountFor(reviewed({ username, uid })), undefined));
}

test('an API server that does not say is no fault; one that is away is', async () => {
  const failing = (status: number) => accountFor(() => Promise.reject(new ApiError(status, {})));
  assert.equal(await failing(404), undefined);
  assert.equal(await failing(403), undefined);
  await assert.rejects(failing(503));
});
