import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import type { KubeObject } from '../../../../../operator/object.ts';
import { planRemoteProxy } from '../../../../../operator/plan/front/plan-remote-proxy.ts';
import type { Plan } from '../../../../../operator/plan/plan.ts';
import { resolveServed } from '../../../../../operator/read/resolve.ts';
import { objectsSource } from '../../../../../operator/read/source.ts';
import { covers } from '../../../../requirements.ts';
import { DEFAULT_SETTINGS, everythingBuilt } from '../../golden.ts';
import { made } from '../../made.ts';
import { condition, group, server, statusOf } from '../../plan-of-demo.ts';
import { planOf } from '../../plan-with-everything-built.ts';

const ref = { name: 'keys', key: 'secret' };
const FILE = '/etc/vmcp/secrets/keys/secret';
const exchange = { tokenUrl: 'https://sts.example.com/token', audience: 'remote' };
const role = { region: 'eu-west-1', fallbackRoleArn: 'arn:aws:iam::123456789012:role/tools' };

const idp = made('MCPOIDCConfig', 'idp', { type: 'inline', inline: { issuer: 'https://idp.example' } });
const callers = (audience: string) => ({ oidcConfigRef: { name: 'idp', audience } });
const gateway = (more: object = {}): KubeObject =>
  server({ incomingAuth: { type: 'oidc', ...callers('demo') }, ...more });
const corp = { name: 'corp', type: 'oidc', oidcConfig: { issuerUrl: 'https://corp.example', clientId: 'g' } };
const withLogin = gateway({ authServerConfig: { issuer: 'https://idp.example', upstreamProviders: [corp] } });

const config = (spec: object): KubeObject => made('MCPExternalAuthConfig', 'login', spec);
const proxy = (more: object = {}): KubeObject =>
  made(
    'MCPRemoteProxy',
    'search',
    {
      remoteUrl: 'https://search.example.com/mcp',
      groupRef: { name: 'tools' },
      externalAuthConfigRef: { name: 'login' },
      ...more,
    },
    { uid: 'u1', generation: 1 },
  );

interface Files {
  readonly incomingAuth?: { readonly type: string; readonly relaysCredentials?: boolean };
  readonly outgoingAuth?: { readonly backends?: Readonly<Record<string, object>> };
  readonly backends?: readonly { readonly url: string; readonly relaysCredentials?: boolean }[];
}
const filesOf = ({ config: files = {} }: Plan): Files => ({
  ...((parse(files['config.yaml'] ?? '') ?? {}) as Files),
  ...((parse(files['backends.yaml'] ?? '') ?? {}) as Files),
});
const strategyOf = (plan: Plan): unknown => filesOf(plan).outgoingAuth?.backends?.['search'];

const planOfProxy = (...objects: readonly KubeObject[]): Plan => {
  const key = { kind: 'MCPRemoteProxy', namespace: 'default', name: 'search' };
  const bundle = resolveServed(objectsSource(objects), key, DEFAULT_SETTINGS.mac);
  assert.ok(bundle);
  return planRemoteProxy(bundle, { settings: DEFAULT_SETTINGS, contract: everythingBuilt() });
};

const NOTHING = { type: 'unauthenticated' };
const OWN_TOKEN = { type: 'token_relay', tokenRelay: {} };
const fromProvider = { type: 'upstream_inject', upstreamInject: { providerName: 'corp' } };

interface Hops {
  readonly spec: object;
  readonly over?: KubeObject;
  /** From the VirtualMCPServer to the proxy. */
  readonly first: object;
  /** From the proxy to the remote server. */
  readonly second: object;
}

/** Strategies whose credential is the same for all callers. */
const OF_ALL: Readonly<Record<string, Hops>> = {
  unauthenticated: { spec: { type: 'unauthenticated' }, first: NOTHING, second: NOTHING },
  headerInjection: {
    spec: { type: 'headerInjection', headerInjection: { headerName: 'X-Key', valueSecretRef: ref } },
    first: NOTHING,
    second: { type: 'header_injection', headerInjection: { headerName: 'X-Key', headerValueFile: FILE } },
  },
  bearerToken: {
    spec: { type: 'bearerToken', bearerToken: { tokenSecretRef: ref } },
    first: NOTHING,
    second: { type: 'bearer_token', bearerToken: { tokenFile: FILE } },
  },
};

/** Strategies whose credential depends on the caller. */
const OF_CALLER: Readonly<Record<string, Hops>> = {
  tokenExchange: {
    spec: { type: 'tokenExchange', tokenExchange: { ...exchange, clientId: 'a', clientSecretRef: ref } },
    first: { type: 'token_exchange', tokenExchange: { ...exchange, clientId: 'a', clientSecretFile: FILE } },
    second: OWN_TOKEN,
  },
  'tokenExchange, into a header of its own': {
    spec: { type: 'tokenExchange', tokenExchange: { ...exchange, externalTokenHeaderName: 'X-Token' } },
    first: { type: 'token_exchange', tokenExchange: exchange },
    second: { type: 'token_relay', tokenRelay: { headerName: 'X-Token' } },
  },
  'tokenExchange, of a login': {
    spec: { type: 'tokenExchange', tokenExchange: exchange },
    over: withLogin,
    first: { type: 'token_exchange', tokenExchange: { ...exchange, subjectProviderName: 'corp' } },
    second: OWN_TOKEN,
  },
  upstreamInject: {
    spec: { type: 'upstreamInject', upstreamInject: { providerName: 'corp' } },
    over: withLogin,
    first: fromProvider,
    second: OWN_TOKEN,
  },
  cloudSts: {
    spec: { type: 'cloudSts', cloudSts: role },
    first: OWN_TOKEN,
    second: { type: 'cloud_sts', cloudSts: role },
  },
  'cloudSts, of a login': {
    spec: { type: 'cloudSts', cloudSts: { ...role, subjectProviderName: 'corp' } },
    over: withLogin,
    first: fromProvider,
    second: { type: 'cloud_sts', cloudSts: role },
  },
};

describe('VirtualMCPServer → MCPRemoteProxy → remote server', () => {
  covers('operator.extauth.referrer.mcpremoteproxy');
  for (const [what, { spec, over = gateway(), first, second }] of Object.entries({ ...OF_ALL, ...OF_CALLER })) {
    const isRelayed = what in OF_CALLER;
    test(`${what}: the proxy adds ${isRelayed ? 'what it is handed' : 'it'}`, () => {
      const objects = [over, group(), idp, proxy(), config(spec)];
      const plan = planOf(...objects);
      assert.partialDeepStrictEqual(strategyOf(plan), first);
      const [backend] = filesOf(plan).backends ?? [];
      assert.equal(backend?.url, 'http://mcpremoteproxy-search.default.svc.cluster.local:8080/mcp');
      assert.equal(backend.relaysCredentials ?? false, isRelayed);
      const [shown] = statusOf(plan)['discoveredBackends'] as readonly Readonly<Record<string, unknown>>[];
      assert.deepEqual([shown?.['authType'], shown?.['authConfigRef']], [(spec as { type: string }).type, 'login']);
      const front = planOfProxy(...objects);
      assert.partialDeepStrictEqual(strategyOf(front), second);
      assert.deepEqual(filesOf(front).incomingAuth, {
        type: 'anonymous',
        ...(isRelayed && { relaysCredentials: true }),
      });
      assert.ok(!JSON.stringify(strategyOf(front)).includes('subjectProviderName'));
    });
  }

  test('a secret is mounted where it is used: by the proxy, or by the server that exchanges', () => {
    const mounts = (plan: Plan): boolean => JSON.stringify(plan.objects).includes('"secret":{"name":"keys"');
    for (const [what, isOfProxy] of [
      ['headerInjection', true],
      ['tokenExchange', false],
    ] as const) {
      const { spec } = { ...OF_ALL, ...OF_CALLER }[what] ?? assert.fail();
      const objects = [gateway(), group(), idp, proxy(), config(spec)];
      assert.deepEqual([mounts(planOfProxy(...objects)), mounts(planOf(...objects))], [isOfProxy, !isOfProxy]);
    }
  });

  for (const [what, { spec, second }] of Object.entries({ ...OF_ALL, ...OF_CALLER }).filter(
    ([name]) => !name.includes('login') && name !== 'upstreamInject',
  )) {
    const direct = what.startsWith('tokenExchange') ? 'token_exchange' : (second as { type: string }).type;
    test(`${what}, where the proxy knows its callers by the same tokens: it gets the caller’s, and adds it itself`, () => {
      const objects = [gateway(), group(), idp, proxy(callers('demo')), config(spec)];
      assert.deepEqual(strategyOf(planOf(...objects)), OWN_TOKEN);
      assert.equal(filesOf(planOf(...objects)).backends?.[0]?.relaysCredentials, undefined);
      const front = planOfProxy(...objects);
      assert.partialDeepStrictEqual(strategyOf(front), { type: direct });
      assert.equal(filesOf(front).incomingAuth?.relaysCredentials, undefined);
    });
  }

  test('a proxy that takes other tokens is told of where it needs to know the user, and an entry for it helps', () => {
    const { spec } = OF_CALLER['tokenExchange'] ?? assert.fail();
    const objects = [group(), idp, proxy(callers('search')), config(spec)];
    const alone = planOf(gateway(), ...objects);
    assert.equal(strategyOf(alone), undefined);
    assert.match(
      condition(alone, 'BackendsWithheld')?.message ?? '',
      /takes tokens for the audience search alone.*let outgoingAuth.backends.search name an MCPExternalAuthConfig/,
    );
    const toProxy = made('MCPExternalAuthConfig', 'to-proxy', {
      type: 'tokenExchange',
      tokenExchange: { ...exchange, audience: 'search' },
    });
    const named = { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'to-proxy' } };
    const helped = planOf(gateway({ outgoingAuth: { backends: { search: named } } }), ...objects, toProxy);
    assert.partialDeepStrictEqual(strategyOf(helped), { tokenExchange: { audience: 'search' } });
    assert.partialDeepStrictEqual(strategyOf(planOfProxy(...objects)), { tokenExchange: { audience: 'remote' } });
    const ofAll = planOf(gateway(), group(), idp, proxy(callers('search')), config(OF_ALL['bearerToken']?.spec ?? {}));
    assert.deepEqual(strategyOf(ofAll), NOTHING);
  });

  test('a server that knows no users hands none over to a proxy that wants some', () => {
    const { spec } = OF_CALLER['cloudSts'] ?? assert.fail();
    const plan = planOf(server(), group(), idp, proxy(callers('demo')), config(spec));
    assert.equal(condition(plan, 'BackendsWithheld')?.reason, 'AuthConfigInvalid');
  });

  test('a proxy in no group is handed nothing', () => {
    const { spec } = OF_CALLER['tokenExchange'] ?? assert.fail();
    const front = planOfProxy(proxy({ groupRef: undefined }), config(spec));
    assert.equal(filesOf(front).incomingAuth?.relaysCredentials, undefined);
    assert.partialDeepStrictEqual(strategyOf(front), { type: 'token_exchange' });
  });

  test('an entry of config.backends of the name gets what is meant for the proxy only at its address', () => {
    const { spec } = OF_ALL['bearerToken'] ?? assert.fail();
    const at = (url: string): Plan =>
      planOf(
        gateway({
          config: { backends: [{ name: 'search', url, transport: 'streamable-http' }] },
          outgoingAuth: { source: 'inline', backends: { search: { type: 'discovered' } } },
        }),
        group(),
        idp,
        proxy(),
        config(spec),
      );
    assert.deepEqual(strategyOf(at('http://mcpremoteproxy-search.default.svc.cluster.local:8080/mcp')), NOTHING);
    assert.partialDeepStrictEqual(strategyOf(at('https://search.example.com/mcp')), { type: 'bearer_token' });
  });

  test('it is not contacted where the Service of the proxy is another’s: it would get the tokens of users', () => {
    const { spec } = OF_ALL['bearerToken'] ?? assert.fail();
    const member = proxy(callers('demo'));
    const at = (url: string, ...more: readonly KubeObject[]): Plan =>
      planOf(
        gateway({
          config: { backends: [{ name: 'search', url, transport: 'streamable-http' }] },
          outgoingAuth: { source: 'inline', backends: { search: { type: 'discovered' } } },
        }),
        group(),
        idp,
        config(spec),
        ...more,
      );
    const service = (uid: string): KubeObject => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'mcpremoteproxy-search',
        namespace: 'default',
        uid: 'service',
        ownerReferences: [{ apiVersion: 'vmcp.dev/v1beta1', kind: 'Other', name: 'search', uid, controller: true }],
      },
    });
    const its = 'http://mcpremoteproxy-search.default.svc.cluster.local:8080/mcp';
    assert.deepEqual(strategyOf(at(its, member, service('u1'))), OWN_TOKEN);
    const conflict = { type: 'ChildConflict', status: 'True', reason: 'ChildConflict', message: 'Service taken' };
    for (const taken of [
      at(its, member, service('stranger')),
      at(its, { ...member, status: { conditions: [conflict] } }),
    ]) {
      const { reason, message } = condition(taken, 'BackendsWithheld') ?? {};
      assert.equal(reason, 'ServiceTaken');
      assert.match(message ?? '', /^config\.backends search: /);
      assert.deepEqual([strategyOf(taken), filesOf(taken).backends ?? []], [undefined, []]);
    }
    const past = at('https://search.example.com/mcp', member, service('stranger'));
    assert.equal(filesOf(past).backends?.[0]?.url, 'https://search.example.com/mcp');
  });
});
