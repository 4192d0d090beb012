import assert from 'node:assert/strict';
import { test } from 'node:test';
import { authServerConfig, idp, planOf } from '../../plan-with-everything-built.ts';
import { condition, group, server } from '../../plan-of-demo.ts';

const told = (resourceUrl: string | undefined, spec: object = {}) => {
  const oidcConfigRef = { name: 'idp', audience: 'demo', ...(resourceUrl !== undefined && { resourceUrl }) };
  const incomingAuth = { type: 'oidc', oidcConfigRef };
  return condition(planOf(server({ incomingAuth, ...spec }), group(), idp()), 'CallbackInCluster');
};

test('CallbackInCluster: browsers would be sent to the address of the Service', () => {
  const { status, reason, message } = told(undefined, { authServerConfig }) ?? {};
  assert.deepEqual([status, reason], ['True', 'ServiceAddress']);
  assert.match(
    message ?? '',
    /^corp: .* back to http:\/\/vmcp-demo\.default\.svc\.[a-z.]+:4483\/oauth\/callback, which/,
  );
  assert.equal(told('https://idp.example', { authServerConfig }), undefined);
  assert.equal(told(undefined), undefined);
  const [corp] = authServerConfig.upstreamProviders;
  const redirectUri = 'https://idp.example/oauth/callback';
  const elsewhere = { ...corp, oidcConfig: { ...corp?.oidcConfig, redirectUri } };
  assert.equal(
    told(undefined, { authServerConfig: { ...authServerConfig, upstreamProviders: [elsewhere] } }),
    undefined,
  );
});
