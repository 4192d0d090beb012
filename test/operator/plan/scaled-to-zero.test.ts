import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reconciledKinds } from '../../../operator/kinds/index.ts';
import { type KubeObject, keyOf } from '../../../operator/object.ts';
import type { Plan } from '../../../operator/plan/plan.ts';
import { objectsSource } from '../../../operator/read/source.ts';
import { limited } from './fronted-server-objects.ts';
import { DEFAULT_SETTINGS, everythingBuilt } from './golden.ts';
import { made } from './made.ts';
import { condition, group, statusOf } from './plan-of-demo.ts';

const container = { image: 'a', transport: 'streamable-http' };
const OF_KIND: readonly (readonly [kind: string, spec: object, phase: string])[] = [
  ['MCPServer', container, 'Stopped'],
  ['MCPServer', { image: 'a', transport: 'stdio' }, 'Stopped'],
  ['MCPServer', { ...container, ...limited }, 'Stopped'],
  ['MCPServer', { image: 'a', transport: 'stdio', ...limited }, 'Stopped'],
  ['MCPRemoteProxy', { remoteUrl: 'https://mcp.example/mcp' }, 'Pending'],
  ['VirtualMCPServer', { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' } }, 'Pending'],
];

const planOf = (server: KubeObject, children: readonly KubeObject[] = []): Plan => {
  const kind = reconciledKinds(everythingBuilt()).find((each) => each.kind === server.kind);
  const bundle = kind?.resolve(objectsSource([server, group(), ...children]), keyOf(server), DEFAULT_SETTINGS.mac);
  assert.ok(kind && bundle !== undefined);
  return kind.plan(bundle, DEFAULT_SETTINGS);
};

/** What is planned, as the cluster has it, after somebody scaled some of it to zero. */
const scaled = ({ objects = [] }: Plan, isScaled: (name: string) => boolean): readonly KubeObject[] =>
  objects.map((object) => {
    const replicas = isScaled(object.metadata.name) ? 0 : 1;
    const ready = { replicas, readyReplicas: replicas, availableReplicas: replicas };
    const spec = object['spec'] as { readonly template?: object } | undefined;
    return spec?.template === undefined ? object : { ...object, spec: { ...spec, replicas }, status: ready };
  });

for (const [kind, spec, phase] of OF_KIND) {
  test(`${kind} ${JSON.stringify(spec)} without pods says so in the same words, however it was scaled and whatever is there yet`, () => {
    const server = (more: object): KubeObject =>
      made(kind, 'weather', { ...spec, ...more }, { uid: 'u', generation: 1 });
    const byHand = scaled(planOf(server({})), () => true);
    for (const plan of [
      planOf(server({ replicas: 0 })),
      planOf(server({ replicas: 0 }), byHand),
      planOf(server({}), byHand),
    ]) {
      const { status, reason, message } = condition(plan, 'Ready') ?? {};
      assert.deepEqual(
        [statusOf(plan)['phase'], status, reason, message, statusOf(plan)['message']],
        [phase, 'True', 'ScaledToZero', 'no pods: replicas is 0', 'no pods: replicas is 0'],
      );
    }
  });
}

test('a container that a user scaled to zero behind its runtime is reported, too', () => {
  const server = made('MCPServer', 'weather', { ...container, ...limited }, { uid: 'u', generation: 1 });
  const plan = planOf(
    server,
    scaled(planOf(server), (name) => name.endsWith('-backend')),
  );
  const { phase, message, readyReplicas } = statusOf(plan);
  assert.deepEqual([phase, message, readyReplicas], ['Stopped', 'the container: no pods: replicas is 0', 0]);
  const { status, reason } = condition(plan, 'Ready') ?? {};
  assert.deepEqual([status, reason], ['True', 'ScaledToZero']);
});

test('while a refused spec waits, what is served says whether there are to be pods', () => {
  const spec = (more: object): object => ({
    groupRef: { name: 'tools' },
    incomingAuth: { type: 'anonymous' },
    ...more,
  });
  const server = (more: object): KubeObject =>
    made('VirtualMCPServer', 'demo', spec(more), { uid: 'u', generation: 1 });
  const refused = { podTemplateSpec: { spec: { containers: 5 } } };
  const reasonOf = (accepted: number, newest: number): string | undefined => {
    const children = scaled(planOf(server({ replicas: accepted })), () => true).map(controlled);
    return condition(planOf(server({ replicas: newest, ...refused }), children), 'Ready')?.reason;
  };
  assert.equal(reasonOf(0, 1), 'ScaledToZero');
  assert.notEqual(reasonOf(1, 0), 'ScaledToZero');
});

const controlled = (object: KubeObject): KubeObject => ({
  ...object,
  metadata: {
    ...object.metadata,
    ownerReferences: (object.metadata.ownerReferences ?? []).map((each) => ({ ...each, controller: true })),
  },
});
