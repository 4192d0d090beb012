import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readManifests } from '../../../operator/read/directory.ts';

const directoryOf = async (t: TestContext): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'vmcp-read-'));
  t.after(() => rm(directory, { recursive: true }));
  return directory;
};

test('a directory that cannot be read is one problem', async (t) => {
  const missing = join(await directoryOf(t), 'missing');
  const { objects, problems } = readManifests(missing);
  assert.deepEqual([objects.length, problems.map(({ file }) => file)], [0, [missing]]);
  assert.match(problems[0]?.message ?? '', /^cannot be read: ENOENT.*; /);
});

test('a file that cannot be read is a problem of its own, and the others are read', async (t) => {
  const directory = await directoryOf(t);
  await symlink('loop.yaml', join(directory, 'loop.yaml'));
  await writeFile(join(directory, 'good.yaml'), 'apiVersion: v1\nkind: Secret\nmetadata: { name: s }\n');
  const { objects, problems } = readManifests(directory);
  assert.deepEqual([objects.map(({ kind }) => kind), problems.map(({ file }) => file)], [['Secret'], ['loop.yaml']]);
  assert.match(problems[0]?.message ?? '', /^cannot be read: ELOOP.*; make it readable, or move it elsewhere$/);
});

test('a file that has just gone, and a directory, are passed over', async (t) => {
  const directory = await directoryOf(t);
  await symlink('nowhere', join(directory, 'gone.yaml'));
  await mkdir(join(directory, 'sub.yaml'));
  assert.deepEqual(readManifests(directory), { objects: [], problems: [] });
});

test('an empty file is a problem, for it may be half written; one of comments is not', async (t) => {
  const directory = await directoryOf(t);
  await writeFile(join(directory, 'empty.yaml'), '');
  await writeFile(join(directory, 'comments.yaml'), '# nothing yet\n');
  const problem = { file: 'empty.yaml', message: 'is empty; write manifests into it, or remove it' };
  assert.deepEqual(readManifests(directory), { objects: [], problems: [problem] });
});

test('a namespace that is left empty is the default one, and one that is no text is a problem', async (t) => {
  const directory = await directoryOf(t);
  const write = (name: string, namespace: string) =>
    writeFile(
      join(directory, `${name}.yaml`),
      `apiVersion: v1\nkind: Secret\nmetadata:\n  name: ${name}\n  namespace: ${namespace}\n`,
    );
  await Promise.all([write('empty', ''), write('quotes', "''"), write('number', '7'), write('text', 'one')]);
  const { objects, problems } = readManifests(directory);
  assert.deepEqual(
    objects.map(({ metadata }) => [metadata.name, metadata.namespace]),
    [
      ['empty', 'default'],
      ['quotes', 'default'],
      ['text', 'one'],
    ],
  );
  assert.deepEqual(
    problems.map(({ line, message }) => [line, message]),
    [[5, 'metadata.namespace: is no text; quote it, or remove it']],
  );
});
