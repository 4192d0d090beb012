import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { yamlSafeJson } from '../../../operator/api/yaml-safe-json.ts';

const everyCharacter = Array.from({ length: 0x11_0000 }, (_, code) => code)
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code));

test('every character of Unicode is the same after it was read as JSON, and as YAML', () => {
  const parts = Array.from({ length: 0x111 }, (_, part) =>
    everyCharacter.slice(part * 0x1000, (part + 1) * 0x1000).join(''),
  );
  const text = yamlSafeJson(parts);
  assert.deepEqual(JSON.parse(text), parts);
  assert.deepEqual(parse(text), parts);
});

test('nothing that YAML refuses, folds or takes for a mark is written as it is', () => {
  const written = yamlSafeJson({ ['k\u007f']: everyCharacter.slice(0, 0x1_0000).join('') });
  // YAML 1.2, 5.1: nb-json without the line breaks of YAML 1.1 and the byte order mark.
  assert.doesNotMatch(written, /[^\u0020-\u007e\u00a0-\u2027\u202a-\ufefe\uff00-\ufffd]/);
});

test('half of a pair becomes the replacement character, and what only looks like one stays', () => {
  assert.equal(yamlSafeJson('a\ud800b\udc00'), '"a\ufffdb\ufffd"');
  assert.equal(yamlSafeJson('\\ud800 \\\\ud800 😀'), String.raw`"\\ud800 \\\\ud800 😀"`);
});
