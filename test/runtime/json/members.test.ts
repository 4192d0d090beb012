import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { skipSpace } from '../../../runtime/json/bytes.ts';
import { memberAt, replacedMember, smallMember, withMembers, withoutMembers } from '../../../runtime/json/members.ts';
import { beginsWith, isText } from '../../../runtime/json/text.ts';
import { isReadByParse, jsonValue } from '../../fixtures/json-values.ts';

/** A string as JSON text, some of its characters as escapes. */
const spelt = (text: string, escaped: readonly boolean[]): string =>
  JSON.stringify(text).replaceAll(/[a-z_/]/g, (letter, at: number) => {
    if (!(escaped[at % escaped.length] ?? false)) return letter;
    return letter === '/' ? '\\/' : `\\u00${letter.charCodeAt(0).toString(16).toUpperCase()}`;
  });

const NAMES = ['a', 'ab', 'b', '_meta', 'io.mcp/a', 'io.mcp/'] as const;
const escapes = fc.array(fc.boolean(), { minLength: 1, maxLength: 4 });
const key = fc.oneof(
  fc.constantFrom(...NAMES),
  fc.string({ maxLength: 4 }).filter(isReadByParse),
  fc.constantFrom(...NAMES).map((name) => `${name}x`),
);
const space = fc.constantFrom('', ' ', '\n\t');
const member = fc.record({ key, escapes, value: jsonValue({ maxDepth: 2 }), before: space, after: space });

type Made = typeof member extends fc.Arbitrary<infer T> ? T : never;

const textOf = (members: readonly Made[]): string =>
  `{${members.map((each) => `${each.before}${spelt(each.key, each.escapes)}:${JSON.stringify(each.value)}${each.after}`).join(',')}}`;

const objects = fc.array(member, { maxLength: 6 });

describe('members of an object', () => {
  test('are found where JSON.parse finds them, the last of a key', () => {
    fc.assert(
      fc.property(objects, fc.constantFrom(...NAMES), (members, name) => {
        const bytes = Buffer.from(textOf(members));
        const span = memberAt(bytes, 0, name);
        const found: unknown = span && JSON.parse(bytes.toString('utf8', span.start, span.end));
        const parsed = JSON.parse(bytes.toString()) as Record<string, unknown>;
        assert.deepEqual(found, parsed[name]);
        assert.deepEqual(smallMember(bytes, 0, name), parsed[name]);
      }),
      { numRuns: 2_000 },
    );
  });

  test('are left out and nothing else is, whatever stands between them', () => {
    fc.assert(
      fc.property(objects, fc.constantFrom(...NAMES), (members, name) => {
        const without = withoutMembers(Buffer.from(textOf(members)), (bytes, at) => isText(bytes, at, name));
        const kept = members.filter((each) => each.key !== name);
        assert.deepEqual(JSON.parse(without.toString()), JSON.parse(textOf(kept)));
        for (const each of kept) assert.ok(without.includes(spelt(each.key, each.escapes)));
      }),
      { numRuns: 2_000 },
    );
  });

  test('come before those that are there', () => {
    fc.assert(
      fc.property(objects, (members) => {
        const bytes = withMembers(Buffer.from(textOf(members)), ['"added":[1]', '"two":2.0']);
        const expected = { added: [1], two: 2, ...(JSON.parse(textOf(members)) as object) };
        assert.deepEqual(JSON.parse(bytes.toString()), expected);
      }),
    );
  });

  for (const [what, before, after] of [
    ['in front', '{ "x" : 1 , "a":1 }', '{ "a":1 }'],
    ['in the middle', '{"a":1 , "x":[1], "x":2 ,"b":1.0}', '{"a":1 , "b":1.0}'],
    ['at the end', '{ "a":1 , "x":2 , "x" : {} }', '{ "a":1 }'],
    ['alone', '{ "x":2 }', '{  }'],
    ['nowhere', '{ "a":1 , "b":2 }', '{ "a":1 , "b":2 }'],
    ['everywhere', '{"x":1,"a":1,"x":1,"b":2,"x":3}', '{"a":1,"b":2}'],
  ] as const)
    test(`${what} leave the others as they are written`, () =>
      assert.equal(withoutMembers(Buffer.from(before), (bytes, at) => isText(bytes, at, 'x')).toString(), after));

  test('are replaced, the last of a key', () => {
    const bytes = Buffer.from(' {"a":1, "a" : 2.0 ,"b":3}');
    assert.equal(
      replacedMember(bytes, 'a', (value) => Buffer.from(`[${value.toString()}]`)).toString(),
      ' {"a":1, "a" : [2.0] ,"b":3}',
    );
    assert.equal(memberAt(bytes, skipSpace(bytes, 0), 'c'), undefined);
  });

  test('that are larger than what is read here have no value', () => {
    const text = (length: number): Buffer => Buffer.from(`{"a":"${'x'.repeat(length)}"}`);
    assert.equal((smallMember(text(256 * 1024 - 2), 0, 'a') as string).length, 256 * 1024 - 2);
    assert.equal(smallMember(text(256 * 1024 - 1), 0, 'a'), undefined);
    assert.equal(smallMember(Buffer.from('["a"]'), 0, 'a'), undefined);
  });
});

test('a string is compared by what it means, however it is spelt', () => {
  fc.assert(
    fc.property(key, escapes, fc.constantFrom(...NAMES), (text, escaped, name) => {
      const bytes = Buffer.from(`${spelt(text, escaped)}:`);
      assert.equal(isText(bytes, 0, name), text === name);
      assert.equal(beginsWith(bytes, 0, name), text.startsWith(name));
    }),
    { numRuns: 2_000 },
  );
  for (const other of ['1', '{}', '"\\"', '"\\\\a"', '"\\n"']) assert.equal(isText(Buffer.from(other), 0, 'a'), false);
});
