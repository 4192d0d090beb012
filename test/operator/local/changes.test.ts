import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { watchDirectory } from '../../../operator/local/watch-directory.ts';
import { runLocal } from '../../../operator/local.ts';
import { freePortPair } from '../../fixtures/ports.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { manifests, startLocal } from './terminal.ts';

const directoryOf = async (t: TestContext): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'vmcp-changes-'));
  t.after(() => rm(directory, { recursive: true }));
  return directory;
};

test('a manifest that changes while the servers are being started is seen', async (t) => {
  const directory = await directoryOf(t);
  await writeFile(join(directory, 'local.yaml'), `ports: { demo: ${await freePortPair()} }`);
  await writeFile(join(directory, 'all.yaml'), manifests({}));
  const stopping = new AbortController();
  const problem = Promise.withResolvers<string>();
  const ended = runLocal([directory], {
    env: {},
    // The first status is printed at the end of the first pass.
    stdout: () => writeFileSync(join(directory, 'all.yaml'), 'kind: ['),
    stderr: problem.resolve,
    signal: AbortSignal.any([stopping.signal, AbortSignal.timeout(10_000)]),
  });
  const first = await Promise.race([problem.promise, ended]);
  stopping.abort();
  await ended;
  assert.match(String(first), /^all\.yaml:1: not YAML/);
});

test('a local.yaml that is empty for a moment while it is written moves no server', async () => {
  await using local = await startLocal({ 'all.yaml': manifests({}) });
  await local.sees(/demo {2}Ready/);
  await local.write('local.yaml', '');
  assert.doesNotMatch(await local.sees(/^local\.yaml: is empty; /m), /stopped|demo {2}/);
  await local.write('local.yaml', `ports: { demo: ${new URL(local.url).port} }\n`);
  assert.doesNotMatch(await local.sees(/^problems solved$/m), /demo {2}/);
});

test('a change that the system does not tell of is found by looking', async (t) => {
  const [directory, elsewhere] = [await directoryOf(t), await directoryOf(t)];
  await writeFile(join(elsewhere, 'target'), 'first');
  await symlink(join(elsewhere, 'target'), join(directory, 'all.yaml'));
  const clock = frozenClock();
  let changes = 0;
  const watcher = watchDirectory(directory, clock, () => (changes += 1));
  t.after(() => watcher.close());
  clock.advance(10_000);
  assert.equal(changes, 0);
  await writeFile(join(elsewhere, 'target'), 'second');
  clock.advance(2_000);
  clock.advance(150);
  assert.equal(changes, 1);
  clock.advance(10_000);
  assert.equal(changes, 1);
});
