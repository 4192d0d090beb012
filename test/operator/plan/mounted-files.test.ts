import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileVolumes, mountedFiles } from '../../../operator/plan/server/mounted-files.ts';
import { availableDeployment } from './world.ts';

test('what a config names is mounted, each key once, and nothing else', () => {
  const config = {
    a: { clientSecretFile: '/etc/vmcp/secrets/idp/secret' },
    hmacFiles: ['/etc/vmcp/secrets/idp/secret', '/etc/vmcp/secrets/idp/other', '/etc/vmcp/secrets/a.b/c.d'],
    signingKeyFiles: ['/etc/vmcp/secrets/idp/..', '/etc/vmcp/secrets/idp/a/b', '/etc/vmcp/secrets/../x'],
    note: '/etc/vmcp/secrets/x/y',
  };
  const mounted = mountedFiles(config, [], undefined);
  assert.deepEqual(mounted.secrets, [
    { name: 'a.b', key: 'c.d' },
    { name: 'idp', key: 'other' },
    { name: 'idp', key: 'secret' },
  ]);
  assert.deepEqual(fileVolumes(mountedFiles({}, [], undefined)), []);
});

test('every source is optional, so that a missing one fails what uses it and not the pod', () => {
  const ca = { owner: 'a', configMap: { name: 'authorities', key: 'ca.pem' } };
  const config = { clientSecretFile: '/etc/vmcp/secrets/idp/secret', caBundlePath: '/etc/vmcp/ca-bundles/a/ca.crt' };
  const volumes = fileVolumes(mountedFiles(config, [ca], undefined)) as readonly {
    readonly projected: { readonly sources: readonly Readonly<Record<string, { readonly optional?: boolean }>>[] };
  }[];
  const sources = volumes.flatMap(({ projected }) => projected.sources).flatMap((source) => Object.values(source));
  assert.deepEqual(
    sources.map(({ optional }) => optional),
    [true, true],
  );
});

test('a CA bundle that only the config still names is mounted as the Deployment has it', () => {
  const config = {
    oidc: { caBundlePath: '/etc/vmcp/ca-bundles/_oidc/ca.crt' },
    backend: { caBundlePath: '/etc/vmcp/ca-bundles/unknown/ca.crt' },
  };
  const ca = { owner: '_oidc', configMap: { name: 'authorities', key: 'ca.pem' } };
  const volumes = fileVolumes({ secrets: [], caBundles: [ca] });
  const deployment = { ...availableDeployment, spec: { template: { spec: { volumes } } } };
  assert.deepEqual(mountedFiles(config, [], deployment).caBundles, [ca]);
  const newer = { ...ca, configMap: { name: 'newer', key: 'ca.pem' } };
  assert.deepEqual(mountedFiles(config, [newer], deployment).caBundles, [newer]);
});
