import assert from 'node:assert/strict';
import { trim } from '../../../operator/cache/trim.ts';
import { mcpServer } from '../../../operator/kinds/mcp-server.ts';
import type { KubeObject } from '../../../operator/object.ts';
import type { Plan } from '../../../operator/plan/plan.ts';
import type { PodReports } from '../../../operator/plan/server/bundle.ts';
import { childOf, labelsOfChild } from '../../../operator/plan/workload/child.ts';
import { objectsSource } from '../../../operator/read/source.ts';
import { authServer } from '../validate/cases.ts';
import { DEFAULT_SETTINGS, everythingBuilt } from './golden.ts';
import { made } from './made.ts';
import { report } from './plan-of-demo.ts';

/** An MCPServer `weather` with clients of its own, and what is around it. */
export const UID = '3f0f8a52-0d55-4a50-8f5e-0a2b9d0f7c11';
export const KEY = { kind: 'MCPServer', namespace: 'default', name: 'weather' };
export const kind = mcpServer(everythingBuilt());

export const server = (spec: object): KubeObject =>
  made('MCPServer', 'weather', { image: 'a', transport: 'streamable-http', ...spec }, { uid: UID, generation: 1 });
export const policies = { type: 'inline', inline: { policies: ['permit(principal, action, resource);'] } };
export const limited = { rateLimiting: { shared: { maxTokens: 1, refillPeriod: '1s' } } };
export const oidc = { oidcConfigRef: { name: 'idp', audience: 'weather' } };
export const issuer = made('MCPOIDCConfig', 'idp', { type: 'inline', inline: { issuer: 'https://auth.example.com' } });
export const embedded = (more: object = {}): KubeObject =>
  made('MCPExternalAuthConfig', 'own', { type: 'embeddedAuthServer', embeddedAuthServer: authServer(more) });

export const plan = (objects: readonly KubeObject[], reports: PodReports = new Map()): Plan => {
  // As the operator's cache holds them.
  const bundle = kind.resolve(
    { ...objectsSource(objects.map(trim)), reports: () => reports },
    KEY,
    DEFAULT_SETTINGS.mac,
  );
  assert.ok(bundle !== undefined);
  return kind.plan(bundle, DEFAULT_SETTINGS);
};

export const namesIn = ({ objects = [] }: Plan): readonly string[] =>
  objects.map((object) => `${object.kind} ${object.metadata.name.replace(/-[0-9a-f]{10}$/, '-#')}`);

export const deployment = (name: string, status: object, spec: object = { replicas: 1 }): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    name,
    namespace: 'default',
    uid: name,
    ownerReferences: [
      { apiVersion: 'vmcp.dev/v1beta1', kind: 'MCPServer', name: 'weather', uid: UID, controller: true },
    ],
  },
  spec,
  status,
});
export const up = { availableReplicas: 1, readyReplicas: 1 };
export const answering: PodReports = new Map([['weather-0', report({ weather: 'ready' })]]);

/** Of a Deployment, or pod, that is the runtime. */
const volumes = [{ name: 'vmcp-config', configMap: { name: 'mcpserver-weather-0123456789' } }];
export const runtime = { replicas: 1, template: { spec: { volumes } } };
/** Of a container that has none in front. */
const labels = labelsOfChild(childOf(server({})));
export const container = {
  replicas: 1,
  template: { metadata: { labels }, spec: { containers: [{ name: 'mcp', image: 'a' }] } },
};
/** The Service that leads to it. */
export const openService = plan([server({})]).objects?.find((each) => each.kind === 'Service') ?? assert.fail();

export const readyPod = (name: string, isRuntime: boolean): readonly KubeObject[] => [
  owned('ReplicaSet', `rs-${name}`, ['Deployment', 'mcpserver-weather'], {}),
  owned('Pod', name, ['ReplicaSet', `rs-${name}`], {
    spec: isRuntime ? { volumes } : {},
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  }),
];

const owned = (of: string, name: string, [by, uid]: readonly [string, string], more: object): KubeObject => ({
  apiVersion: 'v1',
  kind: of,
  metadata: {
    name,
    namespace: 'default',
    uid: name,
    ownerReferences: [{ apiVersion: 'v1', kind: by, name: uid, uid, controller: true }],
  },
  ...more,
});
