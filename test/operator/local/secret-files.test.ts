import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import { virtualMcpServer } from '../../../operator/kinds/virtual-mcp-server.ts';
import { secretFiles } from '../../../operator/local/secret-files.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { objectsSource } from '../../../operator/read/source.ts';
import { DEFAULT_SETTINGS, everythingBuilt } from '../plan/golden.ts';
import { made } from '../plan/made.ts';
import { entry, group, server } from '../plan/plan-of-demo.ts';

const filesOf = (t: TestContext) => {
  const files = secretFiles(tmpdir());
  t.after(() => files.remove());
  return files;
};

const secret = (value: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'key' },
  stringData: { value },
});

const header = { headerName: 'x-key', valueSecretRef: { name: 'key', key: 'value' } };

/** A server with one backend that is sent the key of its namespace. */
const worldIn = (namespace: string): readonly KubeObject[] =>
  [
    server({}, { name: `server-${namespace}` }),
    group(),
    entry('a', { externalAuthConfigRef: { name: 'auth' } }),
    made('MCPExternalAuthConfig', 'auth', { type: 'headerInjection', headerInjection: header }),
    secret(`of ${namespace}`),
  ].map((object) => ({ ...object, metadata: { ...object.metadata, namespace } }));

test('Secrets of one name in two namespaces are two, and each server is led to its own', (t) => {
  const files = filesOf(t);
  const objects = ['one', 'two'].flatMap(worldIn);
  files.write(objects);
  const local = { filesDirectory: files.directory, backends: {}, ports: {} };
  const kind = virtualMcpServer(everythingBuilt());
  const keyFor = (namespace: string): string => {
    const bundle = kind.resolve(objectsSource(objects), { kind: kind.kind, namespace, name: `server-${namespace}` });
    assert.ok(bundle !== undefined);
    const { config } = kind.plan(bundle, { ...DEFAULT_SETTINGS, local });
    const { outgoingAuth } = parse(config?.['backends.yaml'] ?? '') as {
      readonly outgoingAuth: {
        readonly backends: { readonly a: { readonly headerInjection: { headerValueFile: string } } };
      };
    };
    return readFileSync(outgoingAuth.backends.a.headerInjection.headerValueFile, 'utf8');
  };
  assert.deepEqual(['one', 'two'].map(keyFor), ['of one', 'of two']);
});

test('names that lead out of the directory are written nowhere, and what has gone is removed', (t) => {
  const files = filesOf(t);
  const named = (namespace: string): KubeObject => ({ ...secret('x'), metadata: { name: 'key', namespace } });
  files.write([named('..'), named('a/b'), named('one')]);
  const valueIn = (namespace: string): string =>
    readFileSync(`${files.directory}/${namespace}/secrets/key/value`, 'utf8');
  assert.equal(valueIn('one'), 'x');
  for (const namespace of ['..', 'a/b']) assert.throws(() => valueIn(namespace), { code: 'ENOENT' });
  files.write([named('two')]);
  assert.equal(valueIn('two'), 'x');
  assert.throws(() => valueIn('one'), { code: 'ENOENT' });
});
