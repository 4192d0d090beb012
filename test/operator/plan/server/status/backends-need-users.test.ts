import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../../../../operator/object.ts';
import { made } from '../../made.ts';
import { condition, entry, group, server } from '../../plan-of-demo.ts';
import { authServerConfig, idp, oidc, planOf } from '../../plan-with-everything-built.ts';

const tokenExchange = { tokenUrl: 'https://idp.example.com/token', audience: 'a' };
const cloudSts = { region: 'eu-west-1', fallbackRoleArn: 'arn:aws:iam::123456789012:role/reader' };

const config = (type: string, block: object): KubeObject =>
  made('MCPExternalAuthConfig', 'it', { type, [type]: block });
const backend = entry('a', { externalAuthConfigRef: { name: 'it' } });
const told = (spec: object, ...objects: readonly KubeObject[]): string | undefined => {
  const found = condition(planOf(server(spec), group(), ...objects), 'BackendsNeedUsers');
  assert.ok(found === undefined || (found.status === 'True' && found.reason === 'AnonymousAccess'));
  return found?.message;
};
const message = (...which: readonly string[]): string =>
  `every call of ${which.join(', ')} fails: the credential is made from a token of the user who is calling, and anonymous callers have none; set incomingAuth.type to oidc`;

for (const [type, block] of [
  ['tokenExchange', tokenExchange],
  ['cloudSts', cloudSts],
] as const)
  test(`a backend with ${type} on a server that takes everybody is told, and on one that knows its users not`, () => {
    assert.equal(told({}, backend, config(type, block)), message(`a (${type})`));
    assert.equal(told(oidc(), idp(), backend, config(type, block)), undefined);
  });

test('one with upstreamInject is told, too', () => {
  const [{ name: providerName } = assert.fail()] = authServerConfig.upstreamProviders;
  assert.equal(
    told({ authServerConfig }, backend, config('upstreamInject', { providerName })),
    message('a (upstreamInject)'),
  );
});

test('one whose credential is the same for all is not', () => {
  assert.equal(told({}, backend, made('MCPExternalAuthConfig', 'it', { type: 'unauthenticated' })), undefined);
  assert.equal(told({}, entry('a')), undefined);
  const header = { headerName: 'X-Key', valueSecretRef: { name: 's', key: 'k' } };
  assert.equal(told({}, backend, config('headerInjection', header)), undefined);
  assert.equal(told({}, backend, config('bearerToken', { tokenSecretRef: { name: 's', key: 'k' } })), undefined);
});

test('strategies of config.outgoingAuth count as well, and all backends are named', () => {
  const exchange = { type: 'token_exchange', tokenExchange: { tokenUrl: tokenExchange.tokenUrl } };
  const spec = { config: { outgoingAuth: { source: 'discovered', default: exchange } } };
  assert.equal(
    told(spec, entry('b'), backend, config('cloudSts', cloudSts)),
    message('a (cloudSts)', 'b (token_exchange)'),
  );
});

test('a backend that is not contacted is told of by another condition', () => {
  assert.equal(told({}, backend), undefined);
});
