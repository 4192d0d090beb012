import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { toolWords, type Word, wordsOf } from '../../../../runtime/optimizer/search/words.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: unknown = runInNewContext('gc');

const heapBytes = (): number => {
  if (typeof collectGarbage === 'function') collectGarbage();
  return process.memoryUsage().heapUsed;
};

/** Texts that are one long run each, all of them different. */
const runs = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${index.toString(36).padStart(6, 'q')}${'aB'.repeat(995)}`);

const keptBy = (read: (text: string) => readonly Word[], texts: readonly string[]): number => {
  const before = heapBytes();
  for (const text of texts) read(text);
  return heapBytes() - before;
};

test('words of queries are not kept, however many and however long they are', () => {
  const texts = runs(300);
  assert.ok(keptBy(wordsOf, texts) < 1024 * 1024);
});

test('words of tools are kept within a bound of bytes', () => {
  const read = toolWords();
  const texts = runs(4_000);
  const kept = keptBy(read, texts);
  assert.ok(kept < 16 * 1024 * 1024, `${kept} bytes are kept`);
  assert.ok(read('listIssues')[0] === read('listIssues')[0]);
});

test('a long name in camel case is read in all its parts, a run without end is not', () => {
  const [name] = wordsOf('listPullRequestReviewCommentsForRepositoryOfUser');
  assert.deepEqual(
    name?.parts.map(({ text }) => text),
    ['list', 'pull', 'request', 'review', 'comments', 'for', 'repository', 'of', 'user'],
  );
  assert.deepEqual(wordsOf('aB'.repeat(995))[0]?.parts.length, 16);
});

test('no more words of a text are read than are asked for', () => {
  assert.deepEqual(
    ['one two three', 'één twee 查询余票', '查询余票'].map((text) => wordsOf(text, 2).length),
    [2, 2, 2],
  );
});
