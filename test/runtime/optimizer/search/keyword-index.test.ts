import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Arbitrary, array, assert as check, boolean, constantFrom, property, record, tuple } from 'fast-check';
import { KeywordIndex } from '../../../../runtime/optimizer/search/keyword-index.ts';
import { conceptsOf } from '../../../../runtime/optimizer/search/query-concepts.ts';
import { Selection } from '../../../../runtime/optimizer/search/selection.ts';
import { textOf } from '../../../../runtime/optimizer/search/tool-text.ts';

/** Few words, some of them misspelt ones of others, so that what one tool has matters for what is sought of another. */
const words = (maxLength: number): Arbitrary<string> =>
  array(constantFrom('vault', 'vualt', 'secret', 'secrte', 'issue', 'ticket', 'list', 'user'), {
    minLength: 1,
    maxLength,
  }).map((chosen) => chosen.join(' '));

interface Described {
  readonly name: string;
  readonly description: string;
}

const selectionOf = (slots: readonly number[], capacity: number): Selection =>
  new Selection(slots.map(String), {
    placeOf: (slot) => ({ slot: Number(slot) }),
    capacity: () => capacity,
    changes: () => 0,
  });

const scoresOf = (
  tools: readonly (readonly [Described, boolean])[],
  query: string,
): readonly (readonly [string, number])[] => {
  const index = new KeywordIndex();
  for (const [slot, [tool]] of tools.entries()) index.add(slot, textOf(tool));
  const visible = tools.flatMap(([, isVisible], slot) => (isVisible ? [slot] : []));
  const selection = selectionOf(visible, tools.length);
  return index
    .score(conceptsOf(query, index, selection), selection, tools.length)
    .map(({ slot, score }) => [JSON.stringify(tools[slot]?.[0]), score] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
};

test('the score of a tool is that of an index without the hidden tools, to the last digit', () => {
  const tool = record({ name: words(3), description: words(6) });
  check(
    property(array(tuple(tool, boolean()), { maxLength: 12 }), words(4), (tools, query) => {
      assert.deepEqual(
        scoresOf(tools, query),
        scoresOf(
          tools.filter(([, isVisible]) => isVisible),
          query,
        ),
      );
    }),
    { numRuns: 200 },
  );
});

test('a word that only a hidden tool has is taken for a misspelt one', () => {
  const secret = { name: 'tickett', description: '' };
  const open = { name: 'ticket', description: '' };
  assert.deepEqual(
    scoresOf(
      [
        [secret, false],
        [open, true],
      ],
      'tickett',
    ).map(([tool]) => tool),
    [JSON.stringify(open)],
  );
});

test('a search for words like those of many hidden tools takes no longer than one for words like none', () => {
  const index = new KeywordIndex();
  index.add(0, textOf({ name: 'ticket' }));
  for (let slot = 1; slot <= 3_000; slot += 1) index.add(slot, textOf({ name: `zephyrproject${slot}` }));
  const selection = selectionOf([0], 3_001);
  const times = new Map([
    ['zephyrprojectx', new Array<number>()],
    ['quomvlbjtcksxw', new Array<number>()],
  ]);
  for (let round = 0; round < 201; round += 1)
    for (const [word, taken] of times) {
      const from = performance.now();
      assert.deepEqual(index.similarTo(word, 3, selection), []);
      taken.push(performance.now() - from);
    }
  const [hidden = NaN, absent = NaN] = [...times.values()].map((taken) => taken.toSorted((a, b) => a - b)[100]);
  assert.ok(hidden < 5 * absent, `${hidden} ms and ${absent} ms`);
});
