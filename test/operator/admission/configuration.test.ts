import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostsOf } from '../../../operator/admission/configuration.ts';

const hostsAt = (...clientConfigs: readonly object[]): readonly string[] =>
  hostsOf({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'ours' },
    webhooks: clientConfigs.map((clientConfig, index) => ({ name: `${index}`, clientConfig })),
  });

test('the API server connects to a Service under its name, once for all webhooks', () => {
  const service = { namespace: 'ops', name: 'webhook' };
  assert.deepEqual(hostsAt({ service }, { service: { ...service, path: '/b' } }), ['webhook.ops.svc']);
});

test('the host of a url is its name or its address, an IPv6 one without brackets', () => {
  for (const [url, host] of [
    ['https://A.example.com:9443/validate', 'a.example.com'],
    ['https://127.0.0.1:9443/validate', '127.0.0.1'],
    ['https://[::1]:9443/validate', '::1'],
    ['https://[2001:DB8:0::1]/validate', '2001:db8::1'],
    ['https://[::ffff:127.0.0.1]/validate', '::ffff:7f00:1'],
  ] as const) {
    assert.deepEqual(hostsAt({ url }), [host]);
  }
});
