import assert from 'node:assert/strict';
import { test } from 'node:test';
import { costOfPattern } from '../../../runtime/cel/pattern-cost.ts';

const instructionsOf = (pattern: string): number => costOfPattern(pattern)?.instructions ?? Infinity;

test('repetitions count as often as they are written out, inside others too', () => {
  assert.equal(instructionsOf('abc'), 3);
  assert.ok(instructionsOf('a{100}') >= 100);
  assert.ok(instructionsOf('a{2,100}') >= 100);
  assert.ok(instructionsOf('a{100,}') >= 100);
  assert.ok(instructionsOf('((a{1,30}){1,30})$') >= 900);
  assert.equal(costOfPattern('((a{9}){9}){99}'), undefined);
  assert.equal(costOfPattern('(?:abcdefgh){600}'), undefined);
  assert.equal(costOfPattern('a'.repeat(1_025)), undefined);
});

test('what stands for itself opens and closes nothing', () => {
  const repeated = 'abcdefghij'.repeat(5);
  for (const bracket of [
    '[)]',
    '[])]',
    '[^])]',
    '\\)',
    '\\Q)\\E',
    '[\\])]',
    '[[:alpha:])]',
    '\\x{29}',
    '(?i)',
    '😀',
    '[(-)]',
  ])
    assert.ok(instructionsOf(`(${bracket}${repeated}){50}`) >= 2_500, bracket);
  for (const bracket of ['[(]', '\\(', '\\Q(\\E', '\\[', '{', '{,3}', '{x}'])
    assert.ok(instructionsOf(`${bracket}${repeated}x{50}`) < 200, bracket);
});

test('a repetition behind flags is of what stands in front of them', () => {
  assert.ok(instructionsOf('(?:abcdefgh)(?i){100}') >= 800);
});

test('categories, and ranges whose other case is sought, take long to compile', () => {
  const compiling = (pattern: string): number => costOfPattern(pattern)?.compiling ?? Infinity;
  assert.ok(compiling('\\pL\\p{Greek}') > compiling('ab') + 400);
  assert.ok(compiling('(?i)[b-\\x{fffff}]') > 10_000);
  assert.ok(compiling('(?i)[a-z]') < 50);
  assert.ok(compiling('[b-\\x{fffff}]') < 50);
});

test('whatever strangers write has a cost', () => {
  for (const pattern of [
    '',
    '(',
    ')',
    '[',
    '[a',
    '[a-',
    '[]',
    '\\',
    '\\Q',
    '\\p',
    '\\p{',
    '\\x{',
    '*',
    '{3}',
    ')))(((',
    '(?i',
    '[[:',
    '😀-',
  ])
    assert.ok(instructionsOf(pattern) < 50, pattern);
});
