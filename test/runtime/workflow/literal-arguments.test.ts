import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { argumentProblems, writtenCalls } from '../../../runtime/workflow/literal-arguments.ts';
import { compositeToolSchema } from '../../../runtime/config/index.ts';
import { item } from '../catalog/sources.ts';

const callsOf = (steps: readonly object[]) => writtenCalls(compositeToolSchema.parse({ name: 'w', steps }));

const toolWith = (inputSchema: object) =>
  ({
    kind: 'backend',
    backend: 'a',
    ownName: Buffer.from('"t"'),
    listed: item('tools', JSON.stringify({ name: 't', inputSchema })),
  }) as const;

test('problems of arguments name what is wanted, not the value: it may be a secret', () => {
  const schema = { properties: { pin: { type: ['string', 'null'] }, key: { enum: ['x', 7] } } };
  const problems = argumentProblems(
    callsOf([{ id: 's', tool: 'a.t', arguments: { pin: 12345678, key: 'k-12345678' } }]),
    () => toolWith(schema),
  );
  assert.deepEqual(problems, [
    'step "s": a.t wants an argument "pin" of type string or null',
    'step "s": a.t wants as argument "key" one of "x", 7',
  ]);
});

test('what a schema wants is told in a bounded length', () => {
  const many = Array.from({ length: 100_000 }, (_, place) => `word-${place}`);
  const [problem = ''] = argumentProblems(callsOf([{ id: 's', tool: 'a.t', arguments: { n: 1 } }]), () =>
    toolWith({ properties: { n: { enum: many } } }),
  );
  assert.match(problem, /one of "word-0", "word-1", .*…$/);
  assert.ok(problem.length < 150);
});

/** Bytes after a garbage collection. */
const heldBytes = (): number => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  return process.memoryUsage().heapUsed;
};

test('no schema stays in memory beside its text, whatever a backend has written into it', () => {
  const properties = Object.fromEntries(Array.from({ length: 5_000 }, (_, place) => [`p${place}`, { a: [{}] }]));
  const tools = Array.from({ length: 20 }, () => toolWith({ properties }));
  const calls = callsOf([{ id: 's', tool: 'a.t', arguments: { p1: 1 } }]);
  const before = heldBytes();
  for (const tool of tools) argumentProblems(calls, () => tool);
  const grown = heldBytes() - before;
  assert.ok(grown < 2_000_000, `${grown} bytes for ${tools.length} tools`);
});
