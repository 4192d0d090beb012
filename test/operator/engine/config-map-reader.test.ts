import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ApiClient } from '../../../operator/api/client.ts';
import { configMapReader } from '../../../operator/engine/config-map-reader.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { MAX_POLICIES } from '../../../operator/plan/server/config/policies.ts';

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
  assert.deepEqual(await read(metadata('1'), signal), stored);
  assert.deepEqual(await read(metadata('1'), signal), stored);
  assert.deepEqual(asked, ['ConfigMap policies']);
  stored = { ...metadata('2'), kind: 'ConfigMap', data: { a: '2' } };
  assert.deepEqual(await read(metadata('2'), signal), stored);
  assert.equal(asked.length, 2);
  stored = undefined;
  assert.equal(await read(metadata('3'), signal), undefined);
  assert.equal(await read(metadata('3'), signal), undefined);
  assert.equal(asked.length, 4);
});

describe('of ConfigMaps', () => {
  const { signal } = new AbortController();
  const named = (name: string, namespace = 'default'): KubeObject => ({
    ...metadata('1'),
    metadata: { ...metadata('1').metadata, name, namespace, uid: name },
  });
  /** Each one holds this; asked for are the names. */
  const reading = (content: object, maxNamespaceBytes?: number) => {
    const asked: string[] = [];
    const api: Pick<ApiClient, 'get'> = {
      get: ({ name, namespace }) => {
        asked.push(name);
        return Promise.resolve({ ...named(name, namespace), kind: 'ConfigMap', ...content });
      },
    };
    return { asked, read: configMapReader(api, maxNamespaceBytes) };
  };

  test('nothing is remembered but their texts, of each as much as tells that it is too long', async () => {
    const long = 'é'.repeat(300_000);
    const metadataOfMany = { ...named('a').metadata, annotations: { large: long } };
    const { read } = reading({ metadata: metadataOfMany, data: { a: long, b: 'short' }, binaryData: { c: 'AAAA' } });
    const found = await read(named('a'), signal);
    assert.deepEqual(Object.keys(found ?? {}), ['apiVersion', 'kind', 'metadata', 'data']);
    assert.deepEqual(found?.metadata, named('a').metadata);
    assert.deepEqual(found?.['data'], { a: 'é'.repeat(MAX_POLICIES + 1), b: 'short' });
  });

  test('those are remembered that were read last, as far as their namespace has room', async () => {
    const { asked, read } = reading({ data: { a: 'x'.repeat(10_000) } }, 25_000);
    for (const name of ['a', 'b', 'c', 'c', 'b', 'a']) await read(named(name), signal);
    assert.deepEqual(asked, ['a', 'b', 'c', 'a']);
    for (const name of ['d', 'e', 'd', 'e']) await read(named(name, 'another'), signal);
    await read(named('a'), signal);
    assert.deepEqual(asked.slice(4), ['d', 'e']);
  });

  test('one that is larger than the room of its namespace is read each time, and takes it from no other', async () => {
    const asked: string[] = [];
    const api: Pick<ApiClient, 'get'> = {
      get: ({ name }) => {
        asked.push(name);
        const data = { a: 'x'.repeat(name === 'large' ? 30_000 : 10_000) };
        return Promise.resolve({ ...named(name), kind: 'ConfigMap', data });
      },
    };
    const read = configMapReader(api, 25_000);
    for (const name of ['small', 'large', 'large', 'small']) assert.ok(await read(named(name), signal));
    assert.deepEqual(asked, ['small', 'large', 'large']);
  });
});
