import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../../operator/object.ts';
import { type Validator, violationText, violationsOf } from '../../../operator/validate/index.ts';
import { entry, server } from '../plan/world.ts';
import { toldOf } from './told-of.ts';

const nobody = (): undefined => undefined;

const workflow = (dependsOn: readonly string[]) => [
  { id: 'a', type: 'tool', tool: 'x.y', dependsOn },
  { id: 'b', type: 'tool', tool: 'x.y', dependsOn: ['a'] },
];

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

test('several violations in one place are told as the first', () => {
  const rule = (reason: string): Validator => ({
    validate: () => [{ path: 'spec.a', reason, remedy: 'mend it', word: 'Invalid' }],
  });
  const found = violationsOf(server(), nobody, [rule('is red'), rule('is round')]);
  assert.deepEqual(found.map(violationText), ['spec.a: is red; mend it']);
});

test('a rule sees only the kinds that it is for', () => {
  const rule: Validator = {
    kinds: ['MCPGroup'],
    validate: () => [{ path: '', reason: 'seen', remedy: 'none', word: 'Invalid' }],
  };
  assert.deepEqual(violationsOf(server(), nobody, [rule]), []);
});
