import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LocalSession } from '../../../operator/local/local-session.ts';
import type { StateFiles } from '../../../operator/local/state-files.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { InProcessRuntimes } from '../../../operator/write/in-process.ts';
import { entry, group, server } from '../plan/plan-of-demo.ts';

const nothing = (): void => {};

const session = (objects: () => readonly KubeObject[], state: Partial<StateFiles>): LocalSession =>
  new LocalSession(
    { directory: 'nowhere', backends: {} },
    {
      readManifests: () => ({ objects: objects(), problems: [] }),
      readLocalFile: () => ({ ok: true, file: { backends: {}, ports: {} } }),
      state: { readPorts: () => ({}), writePorts: nothing, writeStatus: nothing, ...state },
      secrets: { directory: 'nowhere', write: nothing, remove: nothing },
      isFree: () => Promise.resolve(true),
      runtimes: new InProcessRuntimes(() => Promise.reject(new Error('there is no server here'))),
      stdout: nothing,
      stderr: nothing,
    },
  );

test('status is written when it has changed, not whenever it is looked at', async () => {
  const written: string[] = [];
  let objects = [group(), entry('a')];
  const served = session(() => objects, { writeStatus: (text) => written.push(text) });
  await served.follow();
  served.show();
  served.show();
  assert.equal(written.length, 1);
  objects = [group()];
  await served.follow();
  assert.equal(written.length, 2);
});

test('the port of a server that is called like a property of every object is kept', async () => {
  const kept: unknown[] = [];
  await session(() => [group(), server({}, { name: 'constructor' })], {
    writePorts: (ports) => kept.push(ports),
  }).follow();
  assert.deepEqual(kept, [{ constructor: 4483 }]);
});
