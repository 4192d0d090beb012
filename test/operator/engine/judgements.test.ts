import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Judgements } from '../../../operator/engine/judgements.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { objectsSource } from '../../../operator/read/objects-source.ts';
import type { Source } from '../../../operator/read/source.ts';
import { resolveReferences } from '../../../operator/read/resolve.ts';
import { judgedNow } from '../../../operator/offload/judge.ts';
import { TooCostlyError } from '../../../operator/threads/work-thread.ts';
import { violation } from '../../../operator/validate/validator.ts';
import { withoutSpec } from '../../../operator/validate/index.ts';
import { made } from '../plan/made.ts';

const config = (name: string, generation: number, spec: object): KubeObject => {
  const object = made('MCPToolConfig', name, spec);
  return { ...object, metadata: { ...object.metadata, uid: name, generation } };
};
const broken = { toolsOverride: { a: { name: 'x' }, b: { name: 'x' } } };

const trial = () => {
  const judged: string[] = [];
  const failures: unknown[] = [];
  const late: string[] = [];
  const judgements = new Judgements({
    judge: async (object, references) => {
      judged.push(`${object.metadata.name}@${object.metadata.generation}`);
      if (object.metadata.name === 'costly') throw new TooCostlyError('takes longer than 1 ms');
      if (object.metadata.name === 'fault') throw new Error('a fault of ours');
      return judgedNow(object, references);
    },
    kinds: new Set(['MCPToolConfig']),
    pause: () => Promise.resolve(),
    onLate: ({ metadata }) => late.push(metadata.name),
    onFailure: (error) => failures.push(error),
  });
  return { judgements, judged, late, failures };
};

test('what others may name is judged once for each spec, before anybody asks', async () => {
  const { judgements, judged } = trial();
  const [first, second] = [config('a', 1, { toolsFilter: ['a'] }), config('a', 2, broken)];
  judgements.saw({ after: first });
  judgements.saw({ before: first, after: { ...first, status: {} } });
  judgements.saw({ after: made('MCPGroup', 'g', {}) });
  await judgements.settled('default');
  assert.equal(judgements.brokenRuleOf(first), undefined);
  judgements.saw({ before: first, after: second });
  await judgements.settled('default');
  assert.match(judgements.brokenRuleOf(second)?.path ?? '', /^spec\.toolsOverride/);
  assert.deepEqual(judged, ['a@1', 'a@2']);
  // It is not taken for what it was.
  assert.equal(judgements.brokenRuleOf(first), undefined);
});

test('what is too costly to judge is as good as broken, and a fault keeps nobody waiting', async () => {
  const { judgements, failures } = trial();
  const [costly, fault] = [config('costly', 1, {}), config('fault', 1, broken)];
  for (const after of [fault, costly]) judgements.saw({ after });
  await judgements.settled('default');
  assert.deepEqual(judgements.brokenRuleOf(costly)?.word, 'TooLarge');
  assert.equal(failures.length, 1);
  assert.notEqual(judgements.brokenRuleOf(fault), undefined);
  await judgements.settled('elsewhere');
});

test('what is held without its spec may not be used, whatever is known of the spec that it had', async () => {
  const { judgements, judged } = trial();
  const whole = config('a', 1, { toolsFilter: ['a'] });
  judgements.saw({ after: whole });
  await judgements.settled('default');
  const leftOut = withoutSpec(whole, { ...violation('spec', 'is not read', 'make room'), word: 'TooLarge' });
  judgements.saw({ before: whole, after: leftOut });
  assert.equal(judgements.brokenRuleOf(leftOut)?.word, 'TooLarge');
  judgements.saw({ before: leftOut, after: whole });
  assert.equal(judgements.brokenRuleOf(whole), undefined);
  assert.deepEqual(judged, ['a@1']);
});

test('what changes all the time is judged as it is in the end, is not used until then, and who asked is told', async () => {
  const { judgements, judged, late } = trial();
  const versions = Array.from({ length: 50 }, (_, index) => config('a', index + 1, { toolsFilter: ['a'] }));
  versions.forEach((after, index) => judgements.saw({ after, ...(index > 0 && { before: versions[index - 1] }) }));
  const newest = versions.at(-1) ?? assert.fail();
  assert.match(judgements.brokenRuleOf(newest)?.reason ?? '', /not checked yet/);
  await judgements.settled('default');
  assert.equal(judgements.brokenRuleOf(newest), undefined);
  assert.deepEqual([judged, late], [['a@50'], ['a']]);
});

test('nothing is kept of what has gone before it was judged', async () => {
  const { judgements, judged, late } = trial();
  const gone = config('a', 1, {});
  judgements.saw({ after: gone });
  judgements.brokenRuleOf(gone);
  judgements.saw({ before: gone });
  await judgements.settled('default');
  assert.deepEqual([judged, late], [[], []]);
});

test('who resolves what an object names goes by what is known, and judges nothing anew', () => {
  const named = config('named', 1, broken);
  const server = made('VirtualMCPServer', 's', {
    groupRef: { name: 'g' },
    incomingAuth: { type: 'anonymous' },
    config: { aggregation: { tools: [{ workload: 'a', toolConfigRef: { name: 'named' } }] } },
  });
  const targetIn = (source: Source) =>
    resolveReferences(source, server).find(({ kind }) => kind === 'MCPToolConfig')?.target?.metadata.name;
  const source = objectsSource([named, server]);
  assert.equal(targetIn(source), undefined);
  assert.equal(targetIn({ ...source, brokenRuleOf: () => undefined }), 'named');
});
