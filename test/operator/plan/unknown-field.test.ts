import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../../operator/object.ts';
import type { Plan } from '../../../operator/plan/plan.ts';
import { VERSION } from '../../../runtime/version.ts';
import { planOf, servedBefore } from './plan-with-everything-built.ts';
import { made } from './made.ts';
import { condition, entry, group, planned, server, statusOf } from './plan-of-demo.ts';

/** What the API server hands out where the CRDs are of a newer release. */
const newer = (spec: object = {}): KubeObject =>
  server({ config: { operational: { shiny: true } }, ...spec }, { generation: 2 });

const first = planOf(server(), group(), entry('a'));

/** The same, had another operator accepted this object. */
const servedAs = (accepted: KubeObject): readonly KubeObject[] =>
  servedBefore(first).map((object) =>
    object.kind === 'ConfigMap'
      ? {
          ...object,
          data: { ...(object['data'] as object), 'accepted.json': JSON.stringify({ spec: accepted['spec'] }) },
        }
      : object,
  );

const verdict = (plan: Plan): readonly unknown[] => [
  condition(plan, 'Valid')?.reason,
  condition(plan, 'Ready')?.reason,
  statusOf(plan)['phase'],
];

test('a field of a newer release is reported with the version of the operator, and what was accepted goes on', () => {
  const plan = planOf(newer(), group(), entry('a'), ...servedBefore(first));
  assert.equal(condition(plan, 'Valid')?.reason, 'UnknownField');
  const words = `spec.config.operational.shiny: is not known to this operator (version ${VERSION}); upgrade the operator`;
  assert.ok(condition(plan, 'Valid')?.message.startsWith(words), condition(plan, 'Valid')?.message);
  assert.deepEqual(plan.config, first.config);
  assert.deepEqual(planned(plan, 'Deployment')['spec'], planned(first, 'Deployment')['spec']);
});

test('where a newer operator has accepted it, the pods are left as they are and go on serving', () => {
  const plan = planOf(newer(), group(), entry('a'), ...servedAs(newer()));
  assert.deepEqual(verdict(plan), ['UnknownField', 'LastGoodSpecServes', 'Degraded']);
  assert.match(String(statusOf(plan)['message']), /^the pods are left as they are: spec\.config\.operational\.shiny: /);
  assert.equal(plan.objects, undefined);
});

test('nor does a later change of it bring back a spec from before', () => {
  const [deployment, current] = servedAs(newer());
  const [, older] = servedBefore(first);
  assert.ok(deployment !== undefined && current !== undefined && older !== undefined);
  const before = { ...older, metadata: { ...older.metadata, name: 'vmcp-demo-0123456789' } };
  const changed = newer({ sessionAffinity: 'None' });
  const plan = planOf(changed, group(), entry('a'), deployment, current, before);
  assert.deepEqual(verdict(plan), ['UnknownField', 'LastGoodSpecServes', 'Degraded']);
  assert.equal(plan.objects, undefined);
});

test('an entry that breaks a rule is not contacted without what the rule is about', () => {
  for (const [spec, reason, wrong] of [
    [{ shiny: true }, 'UnknownField', /^MCPServerEntry a: spec\.shiny: is not known to this operator/],
    [{ headerForward: { addPlaintextHeaders: { Host: 'x' } } }, 'Invalid', /^MCPServerEntry a: spec\.headerForward\./],
  ] as const) {
    const withheld = condition(planOf(server(), group(), entry('a', spec), entry('b')), 'BackendsWithheld');
    assert.equal(withheld?.reason, reason);
    assert.match(withheld.message, wrong);
    assert.doesNotMatch(withheld.message, /MCPServerEntry b/);
  }
});

test('a server that has pods is contacted as they are, whatever its newest spec says', () => {
  const known = made('MCPServer', 'a', { image: 'a', groupRef: { name: 'tools' } });
  const member = { ...known, spec: { ...(known['spec'] as object), shiny: true } };
  assert.equal(condition(planOf(server(), group(), member), 'BackendsWithheld'), undefined);
});
