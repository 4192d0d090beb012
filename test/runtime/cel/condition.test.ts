import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compileCondition, MAX_EXPRESSION, newBudget, variablesOf, type Verdict } from '../../../runtime/cel/index.ts';
import { CLAIMS, ORACLE } from '../../fixtures/cel-table.ts';

/** The verdict, or why there is none. */
const evaluated = (expression: string, claims: object = CLAIMS): string => {
  const compiled = compileCondition(expression, ['claims']);
  if (!compiled.ok) return `refused: ${compiled.reason}`;
  const variables = variablesOf({ claims });
  return variables ? compiled.condition.evaluate(variables, newBudget()) : 'too large';
};

for (const [chapter, cases] of Object.entries(ORACLE))
  describe(`conditions: ${chapter}`, () => {
    for (const [expression, verdict] of cases)
      test(`${expression} is ${verdict}`, () => {
        assert.equal(evaluated(expression), verdict);
      });
  });

describe('what is no condition is refused before anybody calls', () => {
  for (const [expression, reason] of [
    ['', 'it cannot be read'],
    ['claims.', 'it cannot be read from character 7 on'],
    ['claims.groups.exists(g, )', 'it cannot be read from character'],
    ['claims == "a" ==', 'it cannot be read'],
    ['"a', 'it cannot be read'],
    ['groups == []', 'there is no variable groups'],
    ['claims.groups.exists(g, h == "a")', 'there is no variable h'],
    ['claims.groups.exists(g, g == "a") && g == "a"', 'there is no variable g'],
    ['lower(claims.sub) == "a"', 'there is no function lower'],
    ['claims.sub.lowerAscii() == "a"', 'there is no function lowerAscii'],
    ['size(claims.sub, 1) == 1', 'size is called with the wrong number of arguments'],
    ['startsWith(claims.sub, "a")', 'startsWith is called with the wrong number of arguments'],
    ['google.protobuf.Struct{} == {}', 'there is no message google.protobuf.Struct'],
    ['claims.sub.matches("((a{1,99}){1,99})$")', 'a pattern is too large'],
    ['claims.groups.exists(g, g.matches("(?:abcdefgh){600}"))', 'a pattern is too large'],
    ['@step()', 'it cannot be read'],
    ['claims.sub + "a"', 'its value is neither true nor false'],
    ['"admins"', 'its value is neither true nor false'],
    ['1', 'its value is neither true nor false'],
    ['[true]', 'its value is neither true nor false'],
    ['size(claims.groups)', 'its value is neither true nor false'],
    ['claims.groups.map(g, g == "a")', 'its value is neither true nor false'],
    ['claims.groups.filter(g, g == "a")', 'its value is neither true nor false'],
    [`claims.sub == "${'x'.repeat(MAX_EXPRESSION)}"`, `longer than ${MAX_EXPRESSION} characters`],
    ['('.repeat(25), 'more than 24 brackets are open'],
  ] as const)
    test(`${expression.slice(0, 60)}: ${reason}`, () => {
      assert.ok(evaluated(expression).startsWith(`refused: ${reason}`), evaluated(expression));
    });
});

describe('an evaluation is bounded, whatever owner and stranger write', () => {
  const words = (count: number) => ({ w: Array.from({ length: count }, (_each, index) => `word-${index}`) });
  const repeated = (condition: string) => Array.from({ length: 10 }, () => condition).join(' && ');
  const digits = '[1,2,3,4,5,6,7,8,9]';

  for (const [fact, expression, claims] of [
    ['loops in loops', 'claims.w.all(a, claims.w.all(b, claims.w.all(c, a + b + c != "x")))', words(3_000)],
    ['loops over literals', `${`${digits}.all(x, `.repeat(8)}true${')'.repeat(8)}`, {}],
    ['a failure that logic would hide', 'claims.w.all(a, claims.w.all(b, true)) || true', words(3_000)],
    ['lists that grow', 'claims.w.map(a, claims.w.map(b, a + b)) == []', words(3_000)],
    ['comparing lists', 'claims.w.all(a, claims.w == claims.w)', words(3_000)],
    ['searching lists', 'claims.w.all(a, a in claims.w)', words(3_000)],
    ['patterns', 'claims.w.exists(a, a.matches("(x?){50}y"))', words(5_000)],
    ['patterns with large repetitions', repeated('claims.t.matches("((a{1,30}){1,30})$")'), { t: 'a'.repeat(9_000) }],
    ['one of them', 'claims.t.matches("((a{1,30}){1,30})$")', { t: 'a'.repeat(9_000) }],
    ['patterns that are computed', 'claims.t.matches("((a{1,99})" + "{1,99})$")', { t: 'a' }],
    ['patterns from strangers', 'claims.t.matches(claims.t)', { t: 'a'.repeat(4_000) }],
    ['cases of many characters', 'claims.w.exists(a, a.matches("(?i)[b-\\\\x{fffff}]y"))', words(5_000)],
    ['time zones', 'claims.w.all(a, timestamp(0).getHours("Europe/Berlin") >= 0)', words(5_000)],
    ['texts that double', `[claims.t]${'.map(a, a + a)'.repeat(20)} == []`, { t: 'x'.repeat(1_000) }],
  ] as const)
    test(fact, () => {
      assert.ok(['exhausted', 'failed'].includes(evaluated(expression, claims)), evaluated(expression, claims));
    });

  test('patterns cannot be made to run for ever', () => {
    assert.equal(evaluated('claims.t.matches("^(a+)+$")', { t: `${'a'.repeat(60)}b` }), 'false');
  });

  test('patterns with repetitions that people write fit', () => {
    const uuid = 'claims.t.matches("^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")';
    assert.equal(evaluated(uuid, { t: '0c7c1f0e-5f0b-4a37-9b1e-0123456789ab' }), 'true');
    const address = 'claims.t.matches("(?i)^[a-z0-9._%+-]{1,64}@(?:[a-z0-9-]{1,63}\\\\.){1,8}[a-z]{2,63}$")';
    assert.equal(evaluated(address, { t: 'Alice@mail.example.com' }), 'true');
    const cost = 'claims.w.exists(a, a.matches("^team-[0-9]{1,4}$"))';
    assert.equal(evaluated(cost, words(400)), 'false');
  });

  test('conditions of one decision share what they may do', () => {
    const compiled = compileCondition('claims.w.all(a, a != "x")', ['claims']);
    const variables = variablesOf({ claims: words(3_000) });
    assert.ok(compiled.ok && variables);
    const budget = newBudget();
    const verdicts = Array.from({ length: 64 }, () => compiled.condition.evaluate(variables, budget));
    assert.deepEqual([verdicts[0], verdicts.at(-1)], ['true', 'exhausted']);
  });

  test('what people really write fits well, also with many groups', () => {
    const claims = { groups: Array.from({ length: 2_000 }, (_each, index) => `group-${index}`) };
    assert.equal(evaluated('"group-1999" in claims.groups', claims), 'true');
    assert.equal(evaluated('claims.groups.exists(g, g.startsWith("team-"))', claims), 'false');
    assert.equal(evaluated('["a", "b", "group-7"].exists(g, g in claims.groups)', claims), 'true');
  });

  test('values that are too many, too long or too deep are not looked into', () => {
    const deep = (depth: number): unknown => (depth === 0 ? 1 : [deep(depth - 1)]);
    assert.equal(evaluated('true', words(20_000)), 'too large');
    assert.equal(evaluated('true', { t: 'x'.repeat(300_000) }), 'too large');
    assert.equal(evaluated('true', { ['k'.repeat(300_000)]: 1 }), 'too large');
    assert.equal(evaluated('true', { d: deep(40) }), 'too large');
    assert.equal(evaluated('claims.d != null', { d: deep(20) }), 'true');
  });

  test('nothing of an evaluation is left for the next one', () => {
    const compiled = compileCondition('claims.w.all(a, claims.w.all(b, true)) || has(claims.x)', ['claims']);
    assert.ok(compiled.ok);
    const verdictOf = (claims: object): Verdict =>
      compiled.condition.evaluate(variablesOf({ claims }) ?? assert.fail('too large'), newBudget());
    assert.equal(verdictOf(words(3_000)), 'exhausted');
    assert.equal(verdictOf({ x: 1 }), 'true');
    assert.equal(verdictOf({ w: [], x: 1 }), 'true');
    assert.equal(verdictOf({}), 'absent');
    assert.equal(verdictOf({ w: 1 }), 'failed');
  });
});
