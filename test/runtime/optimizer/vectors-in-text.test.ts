import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EmbeddingError } from '../../../runtime/optimizer/embeddings/embedding-error.ts';
import { splitAnswer } from '../../../runtime/optimizer/embeddings/vectors-in-text.ts';
import { PROTOCOLS, type ProtocolName } from '../../../runtime/optimizer/embeddings/protocols.ts';
import { nextTurn } from '../../../runtime/process/index.ts';

const read = async (protocol: ProtocolName, text: string, most = 2): Promise<readonly (readonly number[])[]> =>
  PROTOCOLS[protocol].vectorsIn(await splitAnswer(text, most)).map((vector) => [...vector]);

test('vectors are read as JSON has them, whatever else is in the answer', async () => {
  assert.deepEqual(await read('tei', ' [ [1, -0.5,\n2e3] , [0.25] ]'), [[1, -0.5, 2_000], [0.25]]);
  const data = [
    { index: 1, embedding: [2], object: 'embedding [7,8] {[' },
    { index: 0, embedding: [1] },
  ];
  for (const model of ['a "[]" b', 'm[2026-08]', '\\[1,,2]\\'])
    assert.deepEqual(await read('openai', JSON.stringify({ model, data })), [[1], [2]]);
});

for (const [protocol, text] of [
  ['tei', 'garbage'],
  ['tei', ''],
  ['tei', '{}'],
  ['tei', '[1,2]'],
  ['tei', '[[1],["x"]]'],
  ['tei', '[[1],[true]]'],
  ['tei', '[[1],[null]]'],
  ['tei', '[[1],[[2]]]'],
  ['tei', '[[1],[]]'],
  ['tei', '[[1],[1,,2]]'],
  ['tei', '[[1],[+1]]'],
  ['tei', '[[1],[01]]'],
  ['tei', '[[1],[1e999]]'],
  ['tei', '[[1],[1e39]]'],
  ['tei', '[[1],[2]'],
  ['tei', '[[1],[2],[3]]'],
  ['tei', '[["[1]],[2]]'],
  ['openai', '[[1],[2]]'],
  ['openai', '{"data":[{"embedding":[1]}]}'],
  ['openai', '{"data":[{"index":0,"embedding":"AACAPw=="}]}'],
] as const)
  test(`an answer of ${protocol} without usable vectors is refused: ${text}`, async () => {
    await assert.rejects(
      read(protocol, text),
      (error) => error instanceof EmbeddingError && error.reason === 'invalid' && !error.isOfTexts,
    );
  });

test('a vector of more characters than the longest one has is not read', async () => {
  const numbers = (count: number): string =>
    `[[${Array.from({ length: count }, () => '-1.2345678901234567e-10').join(',')}]]`;
  assert.equal((await read('tei', numbers(8_192)))[0]?.length, 8_192);
  await assert.rejects(read('tei', numbers(16_384)), /too long/);
});

test('input is read in between while a large batch is read', async () => {
  const vector = Array.from({ length: 1_024 }, (_, index) => Math.sin(index));
  const text = JSON.stringify(Array.from({ length: 64 }, () => vector));
  const state = { isDone: false };
  const reading = splitAnswer(text, 64).finally(() => (state.isDone = true));
  let turns = 0;
  for (; !state.isDone; turns += 1) await nextTurn();
  assert.ok(turns >= 10, `${turns} turns`);
  const { vectors } = await reading;
  assert.deepEqual([vectors.length, vectors.at(-1)], [64, Float32Array.from(vector)]);
});
