import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runOptions } from '../../operator/run-options.ts';
import { VERSION } from '../../runtime/version.ts';

test('an image is enough; everything else has a default', () => {
  assert.deepEqual(runOptions(['--image', 'vmcp:1'], {}), {
    namespaces: [],
    runtimeImage: 'vmcp:1',
    bridgeImage: `vmcp-operator:${VERSION}`,
    clusterDomain: 'cluster.local',
    healthPort: 8080,
    workers: 16,
    leaderElection: true,
    logLevel: 'info',
    isDryRun: false,
  });
});

test('every flag is also a variable, and a flag wins over it', () => {
  const env = {
    VMCP_IMAGE: 'from-env:1',
    VMCP_NAMESPACES: 'a, b',
    VMCP_LEADER_ELECT: 'false',
    VMCP_HEALTH_PORT: '9000',
    VMCP_OPERATOR_NAMESPACE: 'ops',
  };
  const options = runOptions(['--image', 'from-flag:1'], env);
  assert.ok(!('problem' in options));
  assert.equal(options.runtimeImage, 'from-flag:1');
  assert.deepEqual(options.namespaces, ['a', 'b']);
  assert.deepEqual([options.leaderElection, options.healthPort, options.operatorNamespace], [false, 9000, 'ops']);
});

test('a dry run is a flag without a value, or a variable with one', () => {
  const isDryRun = (args: readonly string[], env: Readonly<Record<string, string>>): unknown => {
    const options = runOptions(['--image', 'i', ...args], env);
    return 'problem' in options ? options.problem : options.isDryRun;
  };
  assert.equal(isDryRun(['--dry-run'], {}), true);
  assert.equal(isDryRun([], { VMCP_DRY_RUN: 'true' }), true);
  assert.equal(isDryRun([], { VMCP_DRY_RUN: 'false' }), false);
  assert.match(String(isDryRun([], { VMCP_DRY_RUN: 'yes' })), /VMCP_DRY_RUN must be one of true, false/);
});

test('authorities that all servers trust are a ConfigMap, and its key where it is another than ca.crt', () => {
  const trustedCaOf = (text: string): unknown => {
    const options = runOptions(['--image', 'i'], { VMCP_TRUSTED_CA: text });
    return 'problem' in options ? options.problem : options.trustedCa;
  };
  assert.equal(trustedCaOf(''), undefined);
  assert.deepEqual(trustedCaOf('company-ca'), { configMap: 'company-ca', key: 'ca.crt' });
  assert.deepEqual(trustedCaOf('company-ca/all.pem'), { configMap: 'company-ca', key: 'all.pem' });
  for (const wrong of ['Company', 'company-ca/', 'company-ca/..', 'a/b/c'])
    assert.match(String(trustedCaOf(wrong)), /--trusted-ca must be the name of a ConfigMap/);
});

test('there is a webhook once its configuration is named', () => {
  const options = runOptions(['--image', 'i', '--webhook-port', '10443'], { VMCP_WEBHOOK_CONFIGURATION: 'ours' });
  assert.ok(!('problem' in options));
  assert.deepEqual(options.webhook, { configuration: 'ours', port: 10_443, drainMs: 5000 });
});

const refused: readonly (readonly [string, readonly string[], RegExp])[] = [
  ['no image', [], /--image or set VMCP_IMAGE/],
  ['an unknown flag', ['--image', 'i', '--imgae', 'j'], /--imgae/],
  ['a port that is none', ['--image', 'i', '--health-port', 'http'], /--health-port must be a whole number/],
  ['a port of the webhook that is none', ['--image', 'i', '--webhook-port', 'https'], /--webhook-port must be a whole/],
  ['no worker', ['--image', 'i', '--workers', '0'], /--workers must be a whole number from 1/],
  ['a level that does not exist', ['--image', 'i', '--log-level', 'loud'], /one of debug, info, warn, error/],
];
for (const [name, args, reason] of refused) {
  test(`${name} is refused with a reason`, () => {
    const options = runOptions(args, {});
    assert.match('problem' in options ? options.problem : '', reason);
  });
}
