import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

const ROOT = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');

/** Names of tests, and of the rows of tables that have a test each. */
const titlesIn = (source: string): readonly string[] =>
  [...source.matchAll(/^ {2,4}\[\s*'([^'\n]+)',|^\s*test\(\s*'([^'\n]+)'/gm)].map(
    ([, row, own]) => row ?? own ?? assert.fail(),
  );

describe('docs/attacks.md', () => {
  const sections = read('docs/attacks.md').split('\n## ').slice(1);
  const tried = sections.filter((section) => /^`test\/[^`]+`:/m.test(section));

  test('has the attacks that are tried, and no others', () => {
    assert.equal(tried.length, 3);
    for (const section of tried) {
      const [, path = ''] = /^`(test\/[^`]+)`:/m.exec(section) ?? [];
      const rows = [...section.matchAll(/^\| (.+?) \| .+ \|$/gm)].map(([, attack]) => attack);
      assert.deepEqual(rows.slice(1), titlesIn(read(path)), path);
    }
  });

  test('names tests of credentials, relayed tokens and circuits that are there', () => {
    for (const [heading, least] of [
      ['Credentials for backends', 15],
      ['Tokens of upstream providers', 8],
      ['Relayed tokens', 5],
      ['Circuits', 5],
      ['Logins and tokens of the authorization server', 15],
      ['Clients of the authorization server', 15],
    ] as const) {
      const section = sections.find((each) => each.startsWith(`${heading}\n`)) ?? assert.fail(heading);
      const rows = [...section.matchAll(/^\| .+ \|$/gm)].slice(1);
      assert.ok(rows.length >= least, heading);
      for (const [row] of rows) {
        const [, path = '', title = ''] = /\| `(test\/[^`]+)` "([^"]+)" \|$/.exec(row) ?? assert.fail(row);
        assert.ok(titlesIn(read(path)).includes(title), row);
      }
    }
  });

  test('has at least the fifty that a security review asks for', () => {
    const count = tried.reduce((sum, section) => sum + (section.match(/^\| /gm)?.length ?? 0) - 1, 0);
    assert.ok(count > 50, String(count));
  });

  test('names tests that are there', () => {
    for (const [, path = ''] of read('docs/attacks.md').matchAll(/`(test\/[^`]+\.ts)`/g))
      assert.ok(existsSync(new URL(path, ROOT)), path);
  });
});
