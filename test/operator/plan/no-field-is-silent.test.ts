import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kinds } from '../../../crds/index.ts';
import { structuralOf } from '../../../crds/structural.ts';
import { reconciledKinds } from '../../../operator/kinds/index.ts';
import { planEverything } from '../../../operator/kinds/plan-everything.ts';
import { objectsSource } from '../../../operator/read/source.ts';
import { embedded, issuer } from './fronted-server-objects.ts';
import { DEFAULT_SETTINGS, everythingBuilt } from './golden.ts';
import { made } from './made.ts';
import { group, server } from './plan-of-demo.ts';

/** Fields of one object's spec. */
type Spec = Readonly<Record<string, unknown>>;

const secret = { name: 'keys', key: 'token' };
const callers = { oidcConfigRef: { name: 'idp', audience: 'it' } };
const policies = { type: 'inline', inline: { policies: ['permit(principal, action, resource);'] } };
const token = made('MCPExternalAuthConfig', 'token', {
  type: 'bearerToken',
  bearerToken: { tokenSecretRef: secret },
});

/** A field's value that differs from the default, and what has to be there beside it. */
interface Tried {
  readonly value: unknown;
  readonly beside?: Spec;
}

const ofClients: Readonly<Record<string, Tried>> = {
  oidcConfigRef: { value: callers.oidcConfigRef },
  authzConfig: { value: policies, beside: callers },
  authServerRef: { value: { name: 'own' }, beside: callers },
  sessionStorage: { value: { provider: 'kvstore', address: 'redis:6379' } },
  sessionAffinity: { value: 'None' },
};
const ofPods: Readonly<Record<string, Tried>> = {
  replicas: { value: 3 },
  resources: { value: { limits: { memory: '1Gi' } } },
  podTemplateSpec: { value: { spec: { nodeSelector: { zone: 'a' } } } },
};
const ofMembers: Readonly<Record<string, Tried>> = {
  groupRef: { value: { name: 'tools' } },
  externalAuthConfigRef: { value: { name: 'token' }, beside: { groupRef: { name: 'tools' } } },
  serviceAccount: { value: 'own-account' },
};
const ofContainers: Readonly<Record<string, Tried>> = {
  image: { value: 'example/other:1' },
  args: { value: ['--verbose'] },
  env: { value: [{ name: 'UNITS', value: 'metric' }] },
};

/** Every field of the kinds with pods of their own. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, Tried>>>> = {
  MCPServer: {
    ...ofClients,
    ...ofPods,
    ...ofMembers,
    ...ofContainers,
    transport: { value: 'sse' },
    mcpPort: { value: 3001 },
    secrets: { value: [secret] },
    rateLimiting: { value: { shared: { maxTokens: 7, refillPeriod: '1s' } } },
  },
  MCPRemoteProxy: {
    ...ofClients,
    ...ofPods,
    ...ofMembers,
    remoteUrl: { value: 'https://other.example.com/mcp' },
    transport: { value: 'sse' },
    headerForward: { value: { addPlaintextHeaders: { 'X-Tenant': 'blue' } } },
  },
  EmbeddingServer: {
    ...ofPods,
    ...ofContainers,
    model: { value: 'other/model' },
    imagePullPolicy: { value: 'Always' },
    port: { value: 3001 },
    hfTokenSecretRef: { value: secret },
    modelCache: { value: { size: '5Gi' } },
  },
};

const container = { image: 'example/it:1' };
const limits = { rateLimiting: { shared: { maxTokens: 1, refillPeriod: '1s' } } };
/** The ways that an object of the kind is run. */
const WAYS: Readonly<Record<string, Readonly<Record<string, Spec>>>> = {
  MCPServer: {
    'over HTTP': { ...container, transport: 'streamable-http' },
    'over HTTP+SSE': { ...container, transport: 'sse' },
    bridged: { ...container, transport: 'stdio' },
    'behind the runtime, over HTTP': { ...container, ...limits, transport: 'streamable-http' },
    'behind the runtime, bridged': { ...container, ...limits, transport: 'stdio' },
  },
  MCPRemoteProxy: { 'as it is': { remoteUrl: 'https://it.example.com/mcp' } },
  EmbeddingServer: { 'as it is': {} },
};

interface Condition {
  readonly type: string;
  readonly status: string;
}

/** What is made for it and for the VirtualMCPServer of its group, and what its conditions say of the spec. */
const outcomeOf = (kind: string, spec: Spec): { readonly made: string; readonly told: readonly string[] } => {
  const it = made(kind, 'it', spec, { uid: 'u1' });
  const source = objectsSource([it, server(), group(), issuer, embedded(), token]);
  const planned = planEverything(
    reconciledKinds(everythingBuilt()),
    { source, namespaces: ['default'] },
    DEFAULT_SETTINGS,
  );
  const objects = planned.flatMap(({ plan }) => plan.objects ?? []);
  const own = planned.find(({ object }) => object === it);
  const { conditions = [] } = (own?.plan.status ?? {}) as { readonly conditions?: readonly Condition[] };
  const isTold = ({ type, status }: Condition): boolean =>
    type.endsWith('Ignored') || (type === 'Valid' && status === 'False');
  return {
    // A copy of the whole spec is kept with what came of it.
    made: JSON.stringify(objects, (key, value: unknown) => (key === 'accepted.json' ? undefined : value)),
    told: conditions.filter(isTold).map(({ type }) => type),
  };
};

/** What is told of the fields above; of every other way nothing. */
const TOLD: Readonly<Record<string, readonly string[]>> = {
  'over HTTP': ['SessionStorageIgnored'],
  'over HTTP+SSE': ['SessionStorageIgnored'],
  bridged: ['SessionStorageIgnored', 'McpPortIgnored'],
  'behind the runtime, bridged': ['McpPortIgnored'],
};

for (const [kind, fields] of Object.entries(FIELDS)) {
  test(`${kind}: the table has every field`, () => {
    const definition = Object.values(kinds).find((each) => each.kind === kind);
    assert.ok(definition);
    const { properties = {} } = structuralOf(definition.spec);
    assert.deepEqual(Object.keys(fields).toSorted(), Object.keys(properties).toSorted());
  });
  for (const [way, base] of Object.entries(WAYS[kind] ?? {}))
    test(`${kind} ${way}: a field takes effect, or a condition tells that it does not`, () => {
      const told = Object.entries(fields).flatMap(([field, { value, beside = {} }]) => {
        const isThere = JSON.stringify(base[field]) === JSON.stringify(value);
        if (isThere) return [];
        const [before, after] = [{}, { [field]: value }].map((more) =>
          outcomeOf(kind, { ...base, ...beside, ...more }),
        );
        assert.ok(before !== undefined && after !== undefined);
        assert.notDeepEqual(after, before, `${field} is silent`);
        return after.told;
      });
      assert.deepEqual(told, TOLD[way] ?? []);
    });
}
