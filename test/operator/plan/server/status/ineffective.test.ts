import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newContract } from '../../../../../operator/plan/contract.ts';
import { planSharedConfig } from '../../../../../operator/plan/shared-config.ts';
import { authServerConfig, idp, oidc, planOf } from '../../plan-with-everything-built.ts';
import { made } from '../../made.ts';
import { condition, group, server } from '../../plan-of-demo.ts';

const kvstore = {
  addr: 'redis:6379',
  aclUserConfig: { passwordSecretRef: { name: 'redis', key: 'password' } },
};

/** `storage` of an embedded authorization server, and whether a condition tells that its store is not used. */
const STORAGES: readonly (readonly [storage: object | undefined, isTold: boolean])[] = [
  [undefined, false],
  [{}, false],
  [{ type: 'memory' }, false],
  [{ type: 'kvstore', kvstore }, false],
  [{ type: 'memory', kvstore }, true],
  // The type defaults to memory.
  [{ kvstore }, true],
];

for (const [storage, isTold] of STORAGES) {
  test(`storage ${JSON.stringify(storage)} of an embedded authorization server is ${isTold ? '' : 'not '}reported as ignored`, () => {
    const embedded = { ...authServerConfig, ...(storage && { storage }) };
    const plan = planOf(server({ ...oidc(), authServerConfig: embedded }), group(), idp());
    const config = made('MCPExternalAuthConfig', 'own', { type: 'embeddedAuthServer', embeddedAuthServer: embedded });
    const shared = planSharedConfig({ config, references: [], users: [] }, newContract());
    const told = [plan, shared].map((each) => condition(each, 'AuthServerStorageIgnored'));
    const message = (path: string) =>
      `${path}.storage.kvstore has no effect while tokens are kept in memory; set ${path}.storage.type to kvstore`;
    const expected = ['spec.authServerConfig', 'spec.embeddedAuthServer'].map((path) => ({
      type: 'AuthServerStorageIgnored',
      status: 'True',
      reason: 'MemoryStorage',
      message: message(path),
    }));
    assert.deepEqual(told, isTold ? expected : [undefined, undefined]);
  });
}

const PLACES = {
  default: 'spec.config.outgoingAuth.default.headerInjection.headerValue',
  a: 'spec.config.outgoingAuth.backends.a.headerInjection.headerValue',
} as const;

const literal = (more: object) => ({
  config: {
    outgoingAuth: {
      source: 'inline',
      default: { type: 'header_injection', headerInjection: { headerName: 'X-Key', headerValue: 'sesame' } },
      backends: {
        a: { type: 'header_injection', headerInjection: { headerName: 'X-Key', headerValue: 'oyster' } },
        b: { type: 'header_injection', headerInjection: { headerName: 'X-Key', headerValueEnv: 'KEY' } },
      },
    },
  },
  ...more,
});

test('a static header value is rendered, and reported as readable without being repeated', () => {
  const plan = planOf(server(literal({})), group());
  assert.equal(condition(plan, 'Valid')?.status, 'True');
  assert.match(plan.config?.['config.yaml'] ?? '', /headerValue: sesame[^]*headerValue: oyster/);
  const { status, reason, message = '' } = condition(plan, 'LiteralHeaderValue') ?? {};
  assert.deepEqual([status, reason], ['True', 'ReadableInConfigMap']);
  assert.match(
    message,
    new RegExp(`^${PLACES.default}, ${PLACES.a}: .*; put it into a Secret .* or use headerValueEnv$`),
  );
  assert.doesNotMatch(JSON.stringify(plan.status), /sesame|oyster/);
});

test('it is reported, too, where spec.outgoingAuth counts instead: the ConfigMap holds the accepted spec', () => {
  const plan = planOf(server(literal({ outgoingAuth: { source: 'discovered' } })), group());
  assert.doesNotMatch(plan.config?.['config.yaml'] ?? '', /sesame/);
  assert.equal(condition(plan, 'LiteralHeaderValue')?.status, 'True');
});

test('no condition tells of headers whose values come from elsewhere', () => {
  const { default: _literal, backends } = literal({}).config.outgoingAuth;
  const config = { outgoingAuth: { source: 'inline', backends: { b: backends.b } } };
  assert.equal(condition(planOf(server({ config }), group()), 'LiteralHeaderValue'), undefined);
});
