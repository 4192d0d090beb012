import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { covers } from '../../../../requirements.ts';
import { condition, group, planned, planOf, server, statusOf } from '../../plan-of-demo.ts';

const ISSUER = 'https://mcp.example.com';
const secret = (key: string) => [{ name: 'keys', key }];
const NAMED = { signingKeySecretRefs: secret('signing'), hmacSecretRefs: secret('hmac') };
const STORE = { aclUserConfig: { passwordSecretRef: { name: 'redis', key: 'password' } } };

const oidcConfig = (issuer: string) => ({
  apiVersion: 'vmcp.dev/v1beta1',
  kind: 'MCPOIDCConfig',
  metadata: { name: 'own', namespace: 'default' },
  spec: { type: 'inline', inline: { issuer } },
});

const withAuthServer = (
  authServerConfig: object = {},
  { accepted = ISSUER, ...spec }: Readonly<Record<string, unknown>> = {},
) =>
  planOf({
    objects: [
      server({
        incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'own', audience: 'demo' } },
        authServerConfig: {
          issuer: ISSUER,
          upstreamProviders: [
            { name: 'corp', type: 'oidc', oidcConfig: { issuerUrl: 'https://corp.example.com', clientId: 'vmcp' } },
          ],
          ...NAMED,
          ...authServerConfig,
        },
        ...spec,
      }),
      group(),
      oidcConfig(String(accepted)),
    ],
  });

covers('authserver.issuer-matches-oidc-config');
test('an issuer whose tokens are not accepted is refused, and the server is not ready', () => {
  assert.equal(condition(withAuthServer(), 'AuthServerConfigValidated')?.status, 'True');
  const plan = withAuthServer({}, { accepted: 'https://other.example.com' });
  const validated = condition(plan, 'AuthServerConfigValidated');
  assert.equal(validated?.status, 'False');
  assert.match(validated?.message ?? '', /issues tokens of another issuer than MCPOIDCConfig own accepts/);
  assert.equal(condition(plan, 'Valid')?.status, 'False');
  assert.notEqual(condition(plan, 'Ready')?.status, 'True');
  assert.equal(statusOf(plan)['phase'], 'Failed');
});

test('what its users lose is reported: with several replicas that share nothing, and with keys that nobody names', () => {
  const told = (...args: Parameters<typeof withAuthServer>): string | undefined =>
    condition(withAuthServer(...args), 'LoginsNotDurable')?.reason;
  const kvstore = { storage: { type: 'kvstore', kvstore: { ...STORE, addr: 'redis:6379' } } };
  assert.equal(told(), undefined);
  assert.equal(told({}, { replicas: 2 }), 'MemoryStorage');
  assert.equal(told(kvstore, { replicas: 2 }), undefined);
  assert.equal(told({ signingKeySecretRefs: undefined }), 'KeysNotNamed');
  assert.equal(told({ ...kvstore, hmacSecretRefs: [] }, { replicas: 2 }), 'KeysNotNamed');
});

covers('authserver.kvstore.sentinel-service-namespace-default');
test('sentinels behind a Service are those of its own namespace', () => {
  const service = (more: object): unknown => {
    const sentinelConfig = { masterName: 'main', sentinelService: { name: 'sentinel', ...more } };
    const plan = withAuthServer({ storage: { type: 'kvstore', kvstore: { ...STORE, sentinelConfig } } });
    const { data } = planned(plan, 'ConfigMap') as unknown as { readonly data: Readonly<Record<string, string>> };
    return parse(data['config.yaml'] ?? '').authServer.storage.kvstore.sentinelConfig.sentinelService;
  };
  assert.deepEqual(service({}), { name: 'sentinel', namespace: 'default' });
  assert.deepEqual(service({ namespace: 'stores' }), { name: 'sentinel', namespace: 'stores' });
});
