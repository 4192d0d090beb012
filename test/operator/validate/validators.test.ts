import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../../operator/object.ts';
import { type Validator, violationText, violationsOf } from '../../../operator/validate/index.ts';
import { entry, server } from '../plan/plan-of-demo.ts';
import { toldOf } from './violation-texts.ts';

const nobody = (): undefined => undefined;

const workflow = (dependsOn: readonly string[]) => [
  { id: 'a', type: 'tool', tool: 'x.y', dependsOn },
  { id: 'b', type: 'tool', tool: 'x.y', dependsOn: ['a'] },
];

/** As many as an object can have: what looks at them more than once each takes minutes. */
const MANY = 20_000;

test('what workflows wait for is looked at once, and no more is reported than can be read', { timeout: 30_000 }, () => {
  const step = (id: string, dependsOn: readonly string[]) => ({ id, tool: 'x.y', dependsOn });
  const told = (steps: readonly object[]) => toldOf(server({ config: { compositeTools: [{ name: 'many', steps }] } }));
  const names = (name: string) => Array<string>(MANY).fill(name);
  assert.deepEqual(told([step('a', names('b')), step('b', names('c')), step('c', [])]).length, 0);
  assert.equal(told([step('a', names('b')), step('b', ['a'])]).length, 100);
  assert.equal(told([step('a', names('nobody'))]).length, 100);
});

test('of two circles that lead from one to the other each is reported, and what leads over is not', () => {
  const steps = ['b', 'a,c', 'd', 'e', 'd'].map((names, index) => ({
    id: 'abcde'.charAt(index),
    tool: 'x.y',
    dependsOn: names.split(','),
  }));
  const told = toldOf(server({ config: { compositeTools: [{ name: 'two', steps }] } }));
  const places = told.map((text) => text.replace(/: .*/, '').replace('spec.config.compositeTools[0].', ''));
  assert.deepEqual(places, [
    'steps[0].dependsOn[0]',
    'steps[1].dependsOn[0]',
    'steps[3].dependsOn[0]',
    'steps[4].dependsOn[0]',
  ]);
});

test('what is right in every respect breaks no rule', () => {
  assert.deepEqual(toldOf(server()), []);
  assert.deepEqual(toldOf(entry('a')), []);
});

test('a workflow that goes in circles is told wherever it is written', () => {
  const words = '"a" and "b" wait for each other; remove one of the dependencies of the circle';
  const definition: KubeObject = {
    apiVersion: 'vmcp.dev/v1beta1',
    kind: 'VirtualMCPCompositeToolDefinition',
    metadata: { name: 'loop', namespace: 'default' },
    spec: { name: 'loop', steps: workflow(['b']) },
  };
  assert.ok(toldOf(definition).includes(`spec.steps[0].dependsOn[0]: ${words}`));
  const inline = server({ config: { compositeTools: [{ name: 'loop', steps: workflow(['b']) }] } });
  assert.ok(toldOf(inline).includes(`spec.config.compositeTools[0].steps[0].dependsOn[0]: ${words}`));
});

test('several violations in one place are reported as the first', () => {
  const rule = (reason: string): Validator => ({
    validate: () => [{ path: 'spec.a', reason, remedy: 'mend it', conditionReason: 'Invalid' }],
  });
  const found = violationsOf(server(), nobody, [rule('is red'), rule('is round')]);
  assert.deepEqual(found.map(violationText), ['spec.a: is red; mend it']);
});

test('a rule sees only the kinds that it is for', () => {
  const rule: Validator = {
    kinds: ['MCPGroup'],
    validate: () => [{ path: '', reason: 'seen', remedy: 'none', conditionReason: 'Invalid' }],
  };
  assert.deepEqual(violationsOf(server(), nobody, [rule]), []);
});
