import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ValidationCache } from '../../../operator/engine/validation-cache.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { validatedNow } from '../../../operator/offload/validate.ts';
import { resolveReferences } from '../../../operator/read/resolve.ts';
import { type Source, objectsSource } from '../../../operator/read/source.ts';
import { TooCostlyError } from '../../../operator/threads/work-thread.ts';
import { withoutSpec } from '../../../operator/validate/index.ts';
import { violation } from '../../../operator/validate/validator.ts';
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
  const validationCache = new ValidationCache({
    validate: async (object, references) => {
      judged.push(`${object.metadata.name}@${object.metadata.generation}`);
      if (object.metadata.name === 'costly') throw new TooCostlyError('takes longer than 1 ms');
      if (object.metadata.name === 'fault') throw new Error('a fault of ours');
      return validatedNow(object, references);
    },
    kinds: new Set(['MCPToolConfig']),
    pause: () => Promise.resolve(),
    onLate: ({ metadata }) => late.push(metadata.name),
    onFailure: (error) => failures.push(error),
  });
  return { validationCache, judged, late, failures };
};

test('an object that others may refer to is validated once for each spec, before a plan needs it', async () => {
  const { validationCache, judged } = trial();
  const [first, second] = [config('a', 1, { toolsFilter: ['a'] }), config('a', 2, broken)];
  validationCache.observe({ after: first });
  validationCache.observe({ before: first, after: { ...first, status: {} } });
  validationCache.observe({ after: made('MCPGroup', 'g', {}) });
  await validationCache.settled('default');
  assert.equal(validationCache.firstViolationOf(first), undefined);
  validationCache.observe({ before: first, after: second });
  await validationCache.settled('default');
  assert.match(validationCache.firstViolationOf(second)?.path ?? '', /^spec\.toolsOverride/);
  assert.deepEqual(judged, ['a@1', 'a@2']);
  // It is not taken for what it was.
  assert.equal(validationCache.firstViolationOf(first), undefined);
});

test('what is too costly to validate counts as broken, and a fault keeps no reconcile waiting', async () => {
  const { validationCache, failures } = trial();
  const [costly, fault] = [config('costly', 1, {}), config('fault', 1, broken)];
  for (const after of [fault, costly]) validationCache.observe({ after });
  await validationCache.settled('default');
  assert.deepEqual(validationCache.firstViolationOf(costly)?.conditionReason, 'TooLarge');
  assert.equal(failures.length, 1);
  assert.notEqual(validationCache.firstViolationOf(fault), undefined);
  await validationCache.settled('elsewhere');
});

test('what is held without its spec may not be used, whatever is known of the spec that it had', async () => {
  const { validationCache, judged } = trial();
  const whole = config('a', 1, { toolsFilter: ['a'] });
  validationCache.observe({ after: whole });
  await validationCache.settled('default');
  const leftOut = withoutSpec(whole, { ...violation('spec', 'is not read', 'make room'), conditionReason: 'TooLarge' });
  validationCache.observe({ before: whole, after: leftOut });
  assert.equal(validationCache.firstViolationOf(leftOut)?.conditionReason, 'TooLarge');
  validationCache.observe({ before: leftOut, after: whole });
  assert.equal(validationCache.firstViolationOf(whole), undefined);
  assert.deepEqual(judged, ['a@1']);
});

test('what changes all the time is judged as it is in the end, is not used until then, and its referrers are reconciled', async () => {
  const { validationCache, judged, late } = trial();
  const versions = Array.from({ length: 50 }, (_, index) => config('a', index + 1, { toolsFilter: ['a'] }));
  versions.forEach((after, index) =>
    validationCache.observe({ after, ...(index > 0 && { before: versions[index - 1] }) }),
  );
  const newest = versions.at(-1) ?? assert.fail();
  assert.match(validationCache.firstViolationOf(newest)?.reason ?? '', /not checked yet/);
  await validationCache.settled('default');
  assert.equal(validationCache.firstViolationOf(newest), undefined);
  assert.deepEqual([judged, late], [['a@50'], ['a']]);
});

test('nothing is kept of what has gone before it was judged', async () => {
  const { validationCache, judged, late } = trial();
  const gone = config('a', 1, {});
  validationCache.observe({ after: gone });
  validationCache.firstViolationOf(gone);
  validationCache.observe({ before: gone });
  await validationCache.settled('default');
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
  assert.equal(targetIn({ ...source, firstViolationOf: () => undefined }), 'named');
});
