import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type MountInput,
  fileVolumes,
  mountedFiles,
} from '../../../../../operator/plan/server/objects/mounted-files.ts';

const mounted = (filePaths: readonly string[], more: Partial<MountInput> = {}) =>
  mountedFiles({ filePaths, caBundles: [], deployment: undefined, ofBackends: [], ...more });

test('what files name is mounted, each key once, and nothing that is no key of a Secret', () => {
  const named = ['idp/secret', 'idp/secret', 'idp/other', 'a.b/c.d', 'idp/..', 'idp/a/b', '../x'];
  const paths = named.map((each) => `/etc/vmcp/secrets/${each}`);
  assert.deepEqual(mounted([...paths, '/etc/passwd']).secrets, [
    { name: 'a.b', key: 'c.d' },
    { name: 'idp', key: 'other' },
    { name: 'idp', key: 'secret' },
  ]);
  assert.deepEqual(fileVolumes(mounted([])), []);
});

test('every source is optional, so that a missing one fails what uses it and not the pod', () => {
  const ca = { owner: 'a', configMap: { name: 'authorities', key: 'ca.pem' } };
  const paths = ['/etc/vmcp/secrets/idp/secret', '/etc/vmcp/ca-bundles/a/ca.crt'];
  const volumes = fileVolumes(mounted(paths, { caBundles: [ca] })) as readonly {
    readonly projected: { readonly sources: readonly Readonly<Record<string, { readonly optional?: boolean }>>[] };
  }[];
  const sources = volumes.flatMap(({ projected }) => projected.sources).flatMap((source) => Object.values(source));
  assert.deepEqual(
    sources.map(({ optional }) => optional),
    [true, true],
  );
});

test('a CA bundle is mounted where the config names it, and of two of one owner the one of today', () => {
  const paths = ['/etc/vmcp/ca-bundles/_oidc/ca.crt', '/etc/vmcp/ca-bundles/unknown/ca.crt'];
  const ca = { owner: '_oidc', configMap: { name: 'authorities', key: 'ca.pem' } };
  assert.deepEqual(mounted(paths, { caBundles: [ca] }).caBundles, [ca]);
  const newer = { ...ca, configMap: { name: 'newer', key: 'ca.pem' } };
  assert.deepEqual(mounted(paths, { caBundles: [ca, newer] }).caBundles, [newer]);
});
