import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiClient } from '../../../operator/api/client.ts';
import { configMapReader } from '../../../operator/engine/config-map-reader.ts';
import type { KubeObject } from '../../../operator/object.ts';

const metadata = (resourceVersion: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'AnyConfigMap',
  metadata: { name: 'policies', namespace: 'default', uid: 'u1', resourceVersion },
});

test('a ConfigMap is read once for each of its versions, and one that has gone is not remembered', async () => {
  let stored: KubeObject | undefined = { ...metadata('1'), kind: 'ConfigMap', data: { a: '1' } };
  const asked: string[] = [];
  const api = {
    get: (key: { readonly kind: string; readonly name: string }) => {
      asked.push(`${key.kind} ${key.name}`);
      return Promise.resolve(stored);
    },
  } as Pick<ApiClient, 'get'>;
  const read = configMapReader(api);
  const { signal } = new AbortController();
  assert.equal(await read(metadata('1'), signal), stored);
  assert.equal(await read(metadata('1'), signal), stored);
  assert.deepEqual(asked, ['ConfigMap policies']);
  stored = { ...metadata('2'), kind: 'ConfigMap', data: { a: '2' } };
  assert.equal(await read(metadata('2'), signal), stored);
  assert.equal(asked.length, 2);
  stored = undefined;
  assert.equal(await read(metadata('3'), signal), undefined);
  assert.equal(await read(metadata('3'), signal), undefined);
  assert.equal(asked.length, 4);
});
