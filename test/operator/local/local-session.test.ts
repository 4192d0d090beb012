import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LocalSession } from '../../../operator/local/local-session.ts';
import { InProcessRuntimes } from '../../../operator/write/in-process.ts';
import { entry, group } from '../plan/world.ts';

const nothing = (): void => {};

test('status is written when it has changed, not whenever it is looked at', async () => {
  const written: string[] = [];
  let objects = [group(), entry('a')];
  const session = new LocalSession(
    { directory: 'nowhere', backends: {} },
    {
      readManifests: () => ({ objects, problems: [] }),
      readLocalFile: () => ({ ok: true, file: { backends: {}, ports: {} } }),
      state: { readPorts: () => ({}), writePorts: nothing, writeStatus: (text) => written.push(text) },
      secrets: { directory: 'nowhere', write: nothing, remove: nothing },
      isFree: () => Promise.resolve(true),
      runtimes: new InProcessRuntimes(() => Promise.reject(new Error('there is no server here'))),
      stdout: nothing,
      stderr: nothing,
    },
  );
  await session.follow();
  session.show();
  session.show();
  assert.equal(written.length, 1);
  objects = [group()];
  await session.follow();
  assert.equal(written.length, 2);
});
