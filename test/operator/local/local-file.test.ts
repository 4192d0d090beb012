import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readLocalFile } from '../../../operator/local/local-file.ts';
import { problemText } from '../../../operator/read/manifests.ts';

const directoryOf = async (t: TestContext): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'vmcp-local-file-'));
  t.after(() => rm(directory, { recursive: true }));
  return directory;
};

const problemsIn = (directory: string): readonly string[] => {
  const read = readLocalFile(directory);
  return read.ok ? [] : read.problems.map(problemText);
};

const rows: readonly (readonly [string, RegExp])[] = [
  ['backends:\n  a: ftp://x\n', /^local\.yaml:2: backends\.a: not an HTTP address; write /],
  ['backends:\n  a: 5\n', /^local\.yaml:2: backends\.a: .*; write an http\(s\) URL$/],
  ['backends:\n  a_: http://x\n', /^local\.yaml:2: backends\.a_: not a workload name; use /],
  ['backends: []\n', /^local\.yaml:1: backends: .*; write NAME: URL$/],
  ['# ports\nports:\n  demo: 99999\n', /^local\.yaml:3: ports\.demo: .*; write a port from 1 to 65534$/],
  ['ports: 5\n', /^local\.yaml:1: ports: .*; write SERVER: PORT$/],
  ['ports: {}\nbackend: {}\n', /^local\.yaml:2: backend: unknown key; use backends and ports$/],
  ['- a\n', /^local\.yaml:1: .*; write backends: /],
  ['ports: [\n', /^local\.yaml:\d: not YAML: .*; write backends: /],
];

for (const [text, problem] of rows) {
  test(`a local.yaml of ${JSON.stringify(text)} is reported with line, reason and remedy`, async (t) => {
    const directory = await directoryOf(t);
    await writeFile(join(directory, 'local.yaml'), text);
    const problems = problemsIn(directory);
    assert.equal(problems.length, 1);
    assert.match(problems[0] ?? '', problem);
  });
}

test('one that cannot be read is a problem like any other', async (t) => {
  const directory = await directoryOf(t);
  await mkdir(join(directory, 'local.yaml'));
  assert.match(problemsIn(directory).join(), /^local\.yaml: cannot be read: EISDIR.*; make it readable, or remove it$/);
});

test('one of no bytes is being written: it is a problem, so that no server moves for that moment', async (t) => {
  const directory = await directoryOf(t);
  await writeFile(join(directory, 'local.yaml'), '');
  assert.deepEqual(problemsIn(directory), ['local.yaml: is empty; write backends: and ports: into it, or remove it']);
});

test('without one, or with one that says nothing, everything is at its default', async (t) => {
  const directory = await directoryOf(t);
  const nothing = { ok: true, file: { backends: {}, ports: {} } };
  assert.deepEqual(readLocalFile(directory), nothing);
  await writeFile(join(directory, 'local.yaml'), '# nothing yet\n');
  assert.deepEqual(readLocalFile(directory), nothing);
});
