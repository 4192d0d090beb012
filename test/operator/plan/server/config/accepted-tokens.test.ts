import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../../../../operator/object.ts';
import type { Running } from '../../../../../runtime/start.ts';
import {
  type IdentityProvider,
  signed,
  signingKey,
  startIdentityProvider,
} from '../../../../fixtures/identity-provider.ts';
import { INITIALIZE, post } from '../../../../fixtures/raw-client.ts';
import { startRuntime } from '../../../../fixtures/runtime.ts';
import { covers } from '../../../../requirements.ts';
import { DEFAULT_SETTINGS } from '../../golden.ts';
import { group, planned, planOf, server } from '../../plan-of-demo.ts';

const oidcConfig = (spec: object): KubeObject => ({
  apiVersion: 'vmcp.dev/v1beta1',
  kind: 'MCPOIDCConfig',
  metadata: { name: 'idp', namespace: 'default' },
  spec,
});

const inline = ({ issuer }: Pick<IdentityProvider, 'issuer'>, more: object = {}): KubeObject =>
  oidcConfig({ type: 'inline', inline: { issuer, insecureAllowHTTP: true, jwksAllowPrivateIP: true, ...more } });

const referring = (more: object = {}, spec: object = {}): KubeObject =>
  server({ incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'idp', audience: 'demo', ...more } }, ...spec });

/** The runtime on what is planned for these objects. */
const served = async (objects: readonly KubeObject[], settings = DEFAULT_SETTINGS): Promise<Running> => {
  const plan = planOf({ objects: [group(), ...objects], settings });
  const { data } = planned(plan, 'ConfigMap') as unknown as { data: Record<string, string> };
  const files = ['config.yaml', 'backends.yaml'].map((name) => ({ name, text: data[name] ?? '' }));
  return startRuntime(files);
};

const enter = async ({ url }: Running, token?: string) =>
  post(url, INITIALIZE, token === undefined ? {} : { authorization: `Bearer ${token}` });

covers('incoming-auth.oidc-config-ref.resolves', 'incoming-auth.precedence.spec-over-config');
test('the referenced configuration says whose tokens are taken, whatever spec.config says', async () => {
  const provider = await startIdentityProvider({ audience: 'demo' });
  const running = await served([referring({}, { config: { incomingAuth: { type: 'anonymous' } } }), inline(provider)]);
  assert.equal((await enter(running, await provider.token())).status, 200);
  assert.equal((await enter(running, await provider.token({ aud: 'other' }))).status, 401);
  assert.equal((await enter(running)).status, 401);
  await running.stop();
  await provider.close();
});

covers('incoming-auth.resource-url.default-internal', 'incoming-auth.scopes.default-openid');
test('the metadata names the internal URL of the Service and the scope openid, unless the reference says otherwise', async () => {
  const provider = await startIdentityProvider({ audience: 'demo' });
  const told = async (more: object) => {
    const running = await served([referring(more), inline(provider)]);
    const response = await fetch(new URL('/.well-known/oauth-protected-resource', running.url));
    const { resource, scopes_supported } = (await response.json()) as Record<string, unknown>;
    await running.stop();
    return { resource, scopes_supported };
  };
  assert.deepEqual(await told({}), {
    resource: 'http://vmcp-demo.default.svc.cluster.local:4483',
    scopes_supported: ['openid'],
  });
  assert.deepEqual(await told({ resourceUrl: 'https://mcp.example.com/mcp', scopes: ['openid', 'tools'] }), {
    resource: 'https://mcp.example.com/mcp',
    scopes_supported: ['openid', 'tools'],
  });
  await provider.close();
});

covers('oidcconfig.cluster-service-account.audience', 'oidcconfig.cluster-service-account.validates');
test('tokens of service accounts are checked with the keys that the operator has read, and with the audience', async () => {
  const issuer = 'https://kubernetes.default.svc.cluster.local';
  const [key, stranger] = await Promise.all([signingKey('k1', 'RS256'), signingKey('k1', 'RS256')]);
  const settings = { ...DEFAULT_SETTINGS, clusterIssuer: { issuer, keys: [key.publicJwk] } };
  const running = await served(
    [referring(), oidcConfig({ type: 'clusterServiceAccount', clusterServiceAccount: {} })],
    settings,
  );
  const seconds = Math.floor(Date.now() / 1_000);
  const claims = {
    iss: issuer,
    aud: ['demo'],
    sub: 'system:serviceaccount:default:agent',
    exp: seconds + 3_600,
    nbf: seconds,
    'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'agent' } },
  };
  const header = { typ: undefined };
  assert.equal((await enter(running, await signed(claims, key, header))).status, 200);
  const wrong = [
    { ...claims, aud: ['https://kubernetes.default.svc'] },
    { ...claims, exp: seconds - 60 },
    { ...claims, iss: 'https://other-cluster.example' },
  ];
  for (const each of wrong) assert.equal((await enter(running, await signed(each, key, header))).status, 401);
  assert.equal((await enter(running, await signed(claims, stranger, header))).status, 401, 'another cluster');
  await running.stop();
});

covers('incoming-auth.anonymous');
test('anonymous admits every caller, and serves no metadata', async () => {
  const running = await served([server()]);
  assert.equal((await enter(running)).status, 200);
  await running.stop();
});

test('the certificate authority of a further issuer may be a key of a Secret, which the pods get', () => {
  const issuers = [{ issuer: 'https://ci.example.com', caBundlePath: '/etc/vmcp/secrets/ci-ca/ca.crt' }];
  const plan = planOf({
    objects: [
      group(),
      referring({}, { config: { extensions: { issuers } } }),
      inline({ issuer: 'https://idp.example' }),
    ],
  });
  assert.match(JSON.stringify(planned(plan, 'Deployment')), /"path":"ci-ca\/ca\.crt"/);
});
