import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compileCondition, MAX_EXPRESSION, newBudget, variablesOf, type Verdict } from '../../../runtime/cel/index.ts';

const CLAIMS = {
  sub: 'alice',
  email: 'alice@example.com',
  email_verified: true,
  level: 3,
  ratio: 0.5,
  negative: -2,
  nothing: null,
  empty: '',
  unicode: 'żółć 😀',
  iat: '2026-01-02T03:04:05Z',
  groups: ['devs', 'ops'],
  numbers: [1, 2, 3],
  none: [],
  org: {
    name: 'acme',
    units: [
      { id: 'u1', head: true },
      { id: 'u2', head: false },
    ],
  },
  'https://example.com/roles': ['reader'],
};

/** The verdict, or why there is none. */
const evaluated = (expression: string, claims: object = CLAIMS): string => {
  const compiled = compileCondition(expression, ['claims']);
  if (!compiled.ok) return `refused: ${compiled.reason}`;
  const variables = variablesOf({ claims });
  return variables ? compiled.condition.evaluate(variables, newBudget()) : 'too large';
};

/**
 * What the language definition (https://github.com/google/cel-spec, langdef.md) says of these, by its chapters; each
 * result was written down from there, not from what this program does.
 */
const ORACLE: Readonly<Record<string, readonly (readonly [expression: string, verdict: Verdict])[]>> = {
  'literals and equality': [
    ['true', 'true'],
    ['false', 'false'],
    ['"a" == \'a\'', 'true'],
    ['"\\x41\\u00e9\\n" == "Aé\\n"', 'true'],
    ['r"\\d" == "\\\\d"', 'true'],
    ['"""a"b""" == "a\\"b"', 'true'],
    ['0x1F == 31', 'true'],
    ['1u == 1u', 'true'],
    ['1.5e1 == 15.0', 'true'],
    ['null == null', 'true'],
    ['b"a" == b"\\x61"', 'true'],
    ['[1, 2] == [1, 2]', 'true'],
    ['[1, 2] == [2, 1]', 'false'],
    ['{"a": 1, "b": 2} == {"b": 2, "a": 1}', 'true'],
    ['"a" != "b"', 'true'],
  ],
  'numbers of JSON are doubles, and compare with integers': [
    ['claims.level == 3', 'true'],
    ['claims.level == 3.0', 'true'],
    ['claims.level == 3u', 'true'],
    ['claims.level > 2', 'true'],
    ['claims.level >= 4', 'false'],
    ['claims.ratio < 1', 'true'],
    ['claims.negative < 0u', 'true'],
    ['claims.level in [1, 2, 3]', 'true'],
    ['3 in claims.numbers', 'true'],
    ['claims.level + 1.0 == 4.0', 'true'],
    ['claims.level + 1 == 4', 'failed'],
    ['int(claims.level) + 1 == 4', 'true'],
    ['type(claims.level) == double', 'true'],
  ],
  'values of different types are not equal, and have no order': [
    ['claims.level == "3"', 'false'],
    ['claims.sub == 1', 'false'],
    ['claims.nothing == false', 'false'],
    ['claims.groups == "devs"', 'false'],
    ['claims.sub > 1', 'failed'],
    ['claims.groups < claims.groups', 'failed'],
  ],
  'logic is commutative over failures': [
    ['true || claims.missing', 'true'],
    ['claims.missing || true', 'true'],
    ['claims.sub > 1 || true', 'true'],
    ['false && claims.missing', 'false'],
    ['claims.missing && false', 'false'],
    ['claims.missing || false', 'absent'],
    ['claims.missing && true', 'absent'],
    ['claims.sub > 1 && true', 'failed'],
    ['1 / 0 == 1 || true', 'true'],
    ['!claims.email_verified', 'false'],
    ['!claims.sub', 'failed'],
    ['claims.email_verified ? claims.level > 2 : false', 'true'],
    ['claims.email_verified ? true : claims.missing', 'true'],
    ['claims.missing ? true : false', 'absent'],
    ['claims.sub ? true : false', 'failed'],
    ['true && "a"', 'failed'],
  ],
  'members and elements': [
    ['claims.org.name == "acme"', 'true'],
    ['claims["org"]["name"] == "acme"', 'true'],
    ['claims.org.units[0].id == "u1"', 'true'],
    ['claims.org.units[2].id == "u1"', 'absent'],
    ['claims.missing == "x"', 'absent'],
    ['claims.org.missing.name == "x"', 'absent'],
    ['claims.sub.name == "x"', 'failed'],
    ['claims.nothing == null', 'true'],
    ['claims["https://example.com/roles"] == ["reader"]', 'true'],
    ['has(claims.org.name)', 'true'],
    ['has(claims.org.missing)', 'false'],
    ['has(claims.missing)', 'false'],
    ['has(claims.missing.name)', 'absent'],
    ['has(claims.nothing)', 'true'],
    ['has(claims.empty)', 'true'],
    ['has(claims.toString)', 'false'],
    ['has(claims.__proto__)', 'false'],
    ['claims.constructor == null', 'absent'],
    ['"sub" in claims', 'true'],
    ['"nothing" in claims', 'true'],
    ['"missing" in claims', 'false'],
    ['"toString" in claims', 'false'],
  ],
  'lists and maps': [
    ['"devs" in claims.groups', 'true'],
    ['"dev" in claims.groups', 'false'],
    ['"devs" in claims.none', 'false'],
    ['"devs" in claims.missing', 'absent'],
    ['"a" in claims.sub', 'failed'],
    ['size(claims.groups) == 2', 'true'],
    ['claims.groups.size() == 2', 'true'],
    ['size(claims.org) == 2', 'true'],
    ['claims.groups + ["x"] == ["devs", "ops", "x"]', 'true'],
    ['claims.groups[0] == "devs"', 'true'],
    ['claims.groups[-1] == "ops"', 'absent'],
    ['claims.none == []', 'true'],
    ['claims.org.units[0] == {"id": "u1", "head": true}', 'true'],
  ],
  macros: [
    ['claims.groups.exists(g, g == "ops")', 'true'],
    ['claims.groups.exists(g, g.startsWith("x"))', 'false'],
    ['claims.none.exists(g, true)', 'false'],
    ['claims.none.all(g, false)', 'true'],
    ['claims.groups.all(g, g != "x")', 'true'],
    ['claims.groups.all(g, g == "ops")', 'false'],
    ['claims.groups.exists_one(g, g == "ops")', 'true'],
    ['claims.groups.exists_one(g, true)', 'false'],
    ['claims.groups.map(g, g + "!") == ["devs!", "ops!"]', 'true'],
    ['claims.numbers.map(n, n > 1, n * 2.0) == [4, 6]', 'true'],
    ['claims.numbers.filter(n, n > 1) == [2, 3]', 'true'],
    ['claims.org.exists(key, key == "name")', 'true'],
    ['claims.org.units.exists(u, u.id == "u1" && u.head)', 'true'],
    ['claims.org.units.exists(u, u.id == "u2" && u.head)', 'false'],
    ['claims.org.units.exists(u, u.missing == "x")', 'absent'],
    ['claims.org.units.exists(u, u.head || u.missing)', 'true'],
    ['claims.groups.exists(a, claims.numbers.exists(b, a == "ops" && b == 3))', 'true'],
    ['claims.sub.exists(c, c == "a")', 'failed'],
    ['[[1], [2]].all(x, x.all(y, y < 3))', 'true'],
  ],
  texts: [
    ['claims.email.endsWith("@example.com")', 'true'],
    ['claims.email.endsWith("@EXAMPLE.com")', 'false'],
    ['claims.email.startsWith("alice")', 'true'],
    ['claims.email.contains("@ex")', 'true'],
    ['claims.email.matches("^[a-z]+@example\\\\.com$")', 'true'],
    ['claims.email.matches("example")', 'true'],
    ['claims.email.matches("^example")', 'false'],
    ['claims.email.matches("(")', 'failed'],
    ['claims.email.matches("(?=a)")', 'failed'],
    ['claims.sub + "@example.com" == claims.email', 'true'],
    ['claims.sub < "bob"', 'true'],
    ['size(claims.unicode) == 6', 'true'],
    ['claims.empty == ""', 'true'],
    ['claims.level.startsWith("3")', 'failed'],
  ],
  'conversions, types and time': [
    ['string(7) == "7"', 'true'],
    ['int("7") == 7', 'true'],
    ['int("x") == 7', 'failed'],
    ['int(3.9) == 3', 'true'],
    ['double("1.5") == 1.5', 'true'],
    ['bytes("a") == b"a"', 'true'],
    ['type(claims.sub) == string', 'true'],
    ['type(claims.groups) == list', 'true'],
    ['type(claims.org) == map', 'true'],
    ['type(claims.nothing) == null_type', 'true'],
    ['timestamp(claims.iat) < timestamp("2027-01-01T00:00:00Z")', 'true'],
    ['timestamp(claims.iat).getFullYear() == 2026', 'true'],
    ['timestamp(claims.iat).getMonth() == 0', 'true'],
    ['timestamp(claims.iat) + duration("1h") == timestamp("2026-01-02T04:04:05Z")', 'true'],
    ['timestamp(claims.sub) < timestamp(claims.iat)', 'failed'],
  ],
  arithmetic: [
    ['1 + 2 * 3 == 7', 'true'],
    ['(1 + 2) * 3 == 9', 'true'],
    ['7 / 2 == 3', 'true'],
    ['-7 % 3 == -1', 'true'],
    ['1 / 0 == 0', 'failed'],
    ['1.0 / 0.0 > 1000.0', 'true'],
    ['9223372036854775807 + 1 > 0', 'failed'],
    ['0u - 1u == 0u', 'failed'],
  ],
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
