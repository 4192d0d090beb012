import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { reconciledKinds } from '../../../operator/kinds/index.ts';
import { namespacesOf } from '../../../operator/kinds/plan-everything.ts';
import { type KubeObject, keyOf } from '../../../operator/object.ts';
import { Planner } from '../../../operator/offload/planner.ts';
import { hmacWith } from '../../../operator/plan/mac.ts';
import { parseManifests } from '../../../operator/read/manifests.ts';
import { objectsSource } from '../../../operator/read/source.ts';
import { TooCostlyError, WorkThread } from '../../../operator/threads/work-thread.ts';
import { steadyClock } from '../../../runtime/process/system-clock.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { DEFAULT_SETTINGS, readGolden } from '../plan/golden.ts';
import { made } from '../plan/made.ts';

const entry = new URL('../../../operator/main.ts', import.meta.url);
const thread = new WorkThread({ entry, limitMs: 30_000, heapMiB: 192 }, steadyClock);
after(() => thread.stop());

let runs = 0;
const counted = {
  run: (...task: Parameters<WorkThread['run']>) => {
    runs += 1;
    return thread.run(...task);
  },
};

const entries = (count: number, group: string): readonly KubeObject[] =>
  Array.from({ length: count }, (_, index) =>
    made('MCPServerEntry', `e${index}`, {
      groupRef: { name: group },
      remoteUrl: `https://e${index}.example.com/mcp`,
      transport: 'sse',
    }),
  );

const kinds = reconciledKinds();
const macKeys = [Buffer.from('a key')];
const settings = { ...DEFAULT_SETTINGS, mac: hmacWith(() => macKeys) };

const directory = join(import.meta.dirname, '../../manifests');
const manifests = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.yaml'),
);

test('a plan made in a thread is the plan made here, for every manifest of the goldens', async () => {
  const planner = new Planner(thread, frozenClock(), 0);
  let plans = 0;
  for (const name of manifests) {
    const { objects } = parseManifests([{ name, text: readGolden(join(directory, name)).input }]);
    const source = objectsSource(objects);
    for (const kind of kinds)
      for (const owner of namespacesOf(objects).flatMap((namespace) => source.list(kind.kind, namespace))) {
        const bundle = kind.resolve(source, keyOf(owner), settings.mac);
        const made = await planner.plan({ kind, owner, bundle, settings, macKeys });
        assert.deepEqual(made, kind.plan(bundle, settings), `${name}: ${kind.kind} ${owner.metadata.name}`);
        plans += 1;
      }
  }
  assert.ok(plans > 100);
});

test('what is small is planned here, and so is what takes less time than to copy it', async () => {
  const run = (): Promise<never> => Promise.reject(new Error('asked a thread'));
  const planner = new Planner({ run }, frozenClock());
  const source = objectsSource([made('MCPGroup', 'g', {}), ...entries(400, 'g')]);
  const owner = (kind: string, name: string) => source.get(kind, 'default', name) ?? assert.fail();
  const plan = (kindName: string, name: string) => {
    const kind = kinds.find((each) => each.kind === kindName) ?? assert.fail();
    const bundle = kind.resolve(source, { kind: kindName, namespace: 'default', name });
    return planner.plan({ kind, owner: owner(kindName, name), bundle, settings, macKeys });
  };
  assert.ok((await plan('MCPServerEntry', 'e1')).status);
  assert.ok((await plan('MCPGroup', 'g')).status);
});

test('a server of many backends is planned in a thread', async () => {
  const planner = new Planner(counted, frozenClock());
  const server = made('VirtualMCPServer', 's', { groupRef: { name: 'g' }, incomingAuth: { type: 'anonymous' } });
  const source = objectsSource([made('MCPGroup', 'g', {}), server, ...entries(400, 'g')]);
  const kind = kinds.find((each) => each.kind === 'VirtualMCPServer') ?? assert.fail();
  const bundle = kind.resolve(source, keyOf(server));
  const before = runs;
  const { status } = await planner.plan({ kind, owner: server, bundle, settings, macKeys });
  assert.equal((status?.['discoveredBackends'] as readonly unknown[] | undefined)?.length, 400);
  assert.equal(runs, before + 1);
});

test('a server with policies is planned in a thread, which loads Cedar', async () => {
  const planner = new Planner(counted, frozenClock());
  const inline = { policies: ['permit(principal, action, resource);'] };
  const authzConfig = { type: 'inline', inline };
  const server = made('VirtualMCPServer', 's', {
    groupRef: { name: 'g' },
    incomingAuth: { type: 'anonymous', authzConfig },
  });
  const source = objectsSource([made('MCPGroup', 'g', {}), server]);
  const kind = kinds.find((each) => each.kind === 'VirtualMCPServer') ?? assert.fail();
  const before = runs;
  await planner.plan({ kind, owner: server, bundle: kind.resolve(source, keyOf(server)), settings, macKeys });
  assert.equal(runs, before + 1);
});

test('what is too costly is reported in its status, and not planned again for ten minutes, or for half a minute where its spec changes', async () => {
  let tries = 0;
  const clock = frozenClock();
  const run = (): Promise<never> => {
    tries += 1;
    return Promise.reject(new TooCostlyError('takes longer than 5000 ms'));
  };
  const planner = new Planner({ run }, clock, 0);
  const [kind] = kinds;
  assert.ok(kind !== undefined);
  const owner = (generation: number) => ({
    apiVersion: 'vmcp.dev/v1beta1',
    kind: kind.kind,
    metadata: { name: 'it', namespace: 'default', uid: 'u', generation },
  });
  const plan = (generation: number) =>
    planner.plan({ kind, owner: owner(generation), bundle: { a: 1 }, settings, macKeys });
  const { status, objects } = await plan(1);
  assert.equal(objects, undefined);
  assert.match(JSON.stringify(status), /"TooCostly".*takes longer than 5000 ms; make it, or what it names/);
  await plan(1);
  assert.equal(tries, 1);
  const resting = await plan(2);
  assert.equal(tries, 1);
  assert.equal(resting.requeueAfterMs, 30_000);
  clock.advance(30_000);
  const again = await plan(2);
  assert.equal(tries, 2);
  assert.equal(again.requeueAfterMs, 600_000);
  clock.advance(30_000);
  await plan(2);
  assert.equal(tries, 2);
  clock.advance(570_000);
  await plan(2);
  assert.equal(tries, 3);
});

test('many small values are too much sooner than a few large ones: they take longer to copy', async () => {
  const run = (): Promise<never> => Promise.reject(new Error('asked a thread'));
  const [kind] = kinds;
  assert.ok(kind !== undefined);
  const bundle = Array.from({ length: 30 }, () =>
    Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [i, ''])),
  );
  const owner = { apiVersion: 'vmcp.dev/v1beta1', kind: kind.kind, metadata: { name: 'it', uid: 'u' } };
  const { status } = await new Planner({ run }, frozenClock()).plan({ kind, owner, bundle, settings, macKeys });
  assert.match(JSON.stringify(status), /"TooCostly".*more than 6 MB/);
});

test('what is made of more than can be copied in time is not even tried', async () => {
  const run = (): Promise<never> => Promise.reject(new Error('asked a thread'));
  const [kind] = kinds;
  assert.ok(kind !== undefined);
  const bundle = Array.from({ length: 30 }, () => 'x'.repeat(250_000));
  const owner = { apiVersion: 'vmcp.dev/v1beta1', kind: kind.kind, metadata: { name: 'it', uid: 'u' } };
  const { status } = await new Planner({ run }, frozenClock()).plan({ kind, owner, bundle, settings, macKeys });
  assert.match(JSON.stringify(status), /"TooCostly".*more than 6 MB/);
});
