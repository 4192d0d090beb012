import assert from 'node:assert/strict';
import { test } from 'node:test';
import { labelledQueries, offeredTools } from '../../bench/optimizer/labelled.ts';
import { indexOfAll, rankAll, recallOf } from '../../bench/optimizer/quality.ts';
import { subwordVector } from '../../bench/optimizer/subword-vectors.ts';

const tools = offeredTools();
const queries = labelledQueries();

test('the set has at least 400 tools and 300 questions, a third of them held out, and every answer is a tool', () => {
  const names = new Set(tools.map(({ name }) => name));
  assert.ok(names.size >= 400);
  assert.ok(queries.length >= 300);
  const heldOut = queries.filter(({ isHeldOut }) => isHeldOut).length / queries.length;
  assert.ok(heldOut > 0.28 && heldOut < 0.38, `${heldOut} is held out`);
  const unknown = queries.flatMap(({ answers }) => [...answers].filter((name) => !names.has(name)));
  assert.deepEqual(unknown, []);
});

const embed = async (texts: readonly string[]): Promise<readonly Float32Array[]> =>
  texts.map((text) => new Float32Array(subwordVector(text)));

const index = await indexOfAll(embed);

// A little below the figures of bench/README.md: a change of the ranking may cost a question, not many.
for (const [ranking, semanticRatio, floor] of [
  ['keywords alone find', 0, 0.93],
  ['keywords and the stand-in of a model together find', 0.5, 0.89],
] as const)
  test(`${ranking} a right tool among the first five for at least ${floor * 100} % of the questions`, async () => {
    const ranked = await rankAll(index, semanticRatio, embed);
    const heldOut = ranked.filter(({ query }) => query.isHeldOut);
    assert.ok(recallOf(ranked).at5 >= floor, `${recallOf(ranked).at5} of all`);
    assert.ok(recallOf(heldOut).at5 >= floor - 0.01, `${recallOf(heldOut).at5} of those that were held out`);
  });
