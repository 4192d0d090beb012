import type { KubeObject } from '../../../operator/object.ts';
import { newContract } from '../../../operator/plan/contract.ts';
import type { Plan } from '../../../operator/plan/plan.ts';
import type { PodReports } from '../../../operator/plan/server/bundle.ts';
import { planServer } from '../../../operator/plan/server/plan-server.ts';
import type { Settings } from '../../../operator/plan/settings.ts';
import { resolveServer } from '../../../operator/read/resolve.ts';
import { objectsSource } from '../../../operator/read/source.ts';
import type { BackendStatus, StatusReport } from '../../../runtime/status/report.ts';
import { DEFAULT_SETTINGS } from './golden.ts';

const API_VERSION = 'vmcp.dev/v1beta1';
export const SERVER_UID = '8a7c2f0e-3b1d-4c55-9a70-0f6d1c2b3a49';
export const SERVER_KEY = { kind: 'VirtualMCPServer', namespace: 'default', name: 'demo' };

/** A VirtualMCPServer `demo` over group `tools`, with more fields of spec. */
export const server = (spec: object = {}, metadata: object = {}): KubeObject => ({
  apiVersion: API_VERSION,
  kind: 'VirtualMCPServer',
  metadata: { name: 'demo', namespace: 'default', uid: SERVER_UID, generation: 1, ...metadata },
  spec: { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' }, ...spec },
});

export const group = (name = 'tools', namespace = 'default'): KubeObject => ({
  apiVersion: API_VERSION,
  kind: 'MCPGroup',
  metadata: { name, namespace },
  spec: {},
});

export const entry = (name: string, spec: object = {}): KubeObject => ({
  apiVersion: API_VERSION,
  kind: 'MCPServerEntry',
  metadata: { name, namespace: 'default' },
  spec: { groupRef: { name: 'tools' }, remoteUrl: `http://${name}/mcp`, transport: 'streamable-http', ...spec },
});

export const ownedByServer = {
  ownerReferences: [
    { apiVersion: API_VERSION, kind: 'VirtualMCPServer', name: 'demo', uid: SERVER_UID, controller: true },
  ],
};

/** A Deployment with a pod that serves. */
export const availableDeployment: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'vmcp-demo', namespace: 'default', uid: 'd1', ...ownedByServer },
  spec: { replicas: 1 },
  status: { availableReplicas: 1 },
};

export const report = (backends: Readonly<Record<string, BackendStatus>>): StatusReport => ({
  version: '0.1.0',
  config: { hash: 'abc' },
  toolCount: 5,
  collisions: [],
  backends: Object.entries(backends).map(([name, status]) => ({ name, status, consecutiveFailures: 0, toolCount: 2 })),
});

export interface PlanInputs {
  readonly objects: readonly KubeObject[];
  readonly reports?: PodReports;
  readonly settings?: Settings;
}

/** What is planned for `demo`. */
export const planOf = ({ objects, reports = new Map(), settings = DEFAULT_SETTINGS }: PlanInputs): Plan => {
  const bundle = resolveServer({ ...objectsSource(objects), reports: () => reports }, SERVER_KEY, settings.mac);
  if (bundle === undefined) throw new Error('no server demo among these objects');
  return planServer(bundle, { settings, contract: newContract() });
};

export const planned = (plan: Plan, kind: string): KubeObject => {
  const found = (plan.objects ?? []).filter((object) => object.kind === kind);
  const [only, ...more] = found;
  if (only === undefined || more.length > 0) throw new Error(`${found.length} objects of kind ${kind} are planned`);
  return only;
};

interface PodSpec {
  readonly containers: readonly { readonly name: string; readonly image: string }[];
  readonly [field: string]: unknown;
}

export const podSpecOf = (plan: Plan): PodSpec => {
  const { template } = planned(plan, 'Deployment')['spec'] as { readonly template: { readonly spec: PodSpec } };
  return template.spec;
};

export const statusOf = (plan: Plan): Readonly<Record<string, unknown>> => plan.status ?? {};

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

export const condition = (plan: Plan, type: string): Condition | undefined =>
  (statusOf(plan)['conditions'] as readonly Condition[]).find((each) => each.type === type);
