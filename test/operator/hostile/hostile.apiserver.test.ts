import { hostileObject } from './hostile-object.ts';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { KubeObject } from '../../../operator/object.ts';
import { handmade } from './handmade.ts';
import { inflated } from './inflated.ts';
import { ordinary } from './ordinary.ts';
import { type Answered, type AttackImpact, type Trial, startTrial } from './trial.ts';

/**
 * What nobody else may notice: no probe of the chart fails, the Lease is held, and the container is not killed. `npm
 * run bench:hostile` tells the figures; these are what must hold on any machine.
 */
const assertHarmless = (harm: AttackImpact): void => {
  const { canaryMs, probeMs, leaseMs, peakMiB, delay } = harm;
  const told = JSON.stringify(harm);
  assert.ok(probeMs < 3_000, `a probe: ${told}`);
  assert.ok(leaseMs < 10_000, `the Lease: ${told}`);
  assert.ok(peakMiB < 512, `memory: ${told}`);
  assert.ok(canaryMs < 15_000, `another namespace: ${told}`);
  assert.ok(delay.p999 < 1_000, `the event loop: ${told}`);
};

let trial: Trial;
before(async () => {
  trial = await startTrial();
});
after(() => trial.stop());

const sendAll = async (objects: readonly KubeObject[]): Promise<readonly Answered[]> => {
  const answers: Answered[] = [];
  for (const object of objects) answers.push(await trial.send('POST', object));
  return answers;
};

const remove = (kind: string): Promise<string> =>
  trial.plane.kubectl(['delete', kind, '--all', '--namespace', 'hostile', '--wait=false']);

test('what once hurt an operator, made by hand', async () => {
  let answers: readonly Answered[] = [];
  assertHarmless(await trial.during(async () => (answers = await sendAll(Object.values(handmade)))));
  const told = Object.keys(handmade).map((name, index) => ({ name, ...answers[index] }));
  for (const { name, status, message } of told)
    assert.ok(status === 201 || status === 422, `${name}: ${status} ${message}`);
  const refused = told.filter(({ status }) => status === 422).map(({ name }) => name);
  assert.ok(refused.length > 8, refused.join());
  for (const { message } of told) assert.doesNotMatch(message ?? '', /anonymous|unauthenticated|or remove|or delete/i);
  const { conditions } = await trial.statusOf('VirtualMCPServer', 'odd');
  assert.match(JSON.stringify(conditions), /"type":"Valid"[^}]*"status":"True"|"status":"True"[^}]*"type":"Valid"/);
  await remove('virtualmcpserver');
});

/**
 * A map of any fields that is as large as the API server takes it is refused for its size, wherever it is. With as many
 * entries as fit, the API server takes ten seconds to note who owns them: one has so many, and the others have long
 * ones.
 */
const inflatedObjects = (): readonly KubeObject[] => {
  const all = ordinary.flatMap(({ object }) => inflated(object, { texts: false, entryBytes: 64 }));
  const shortest = ordinary
    .filter(({ kind }) => kind === 'VirtualMCPCompositeToolDefinition')
    .flatMap(({ object }) => inflated(object, { texts: false }))
    .filter(({ path }) => path === 'spec.parameters');
  assert.equal(shortest.length, 1);
  return [...all, ...shortest].map(({ object }, index) => ({
    ...object,
    metadata: { name: `h${index}`, namespace: 'hostile' },
  }));
};

test('objects of every kind, each with one list or map as large as it may be', async () => {
  const all = inflatedObjects();
  let answers: readonly Answered[] = [];
  assertHarmless(await trial.during(async () => (answers = await sendAll(all))));
  const stored = Map.groupBy(all, ({ kind }) => kind);
  for (const [kind, objects] of stored)
    assert.ok(
      objects.some((object) => answers[all.indexOf(object)]?.status === 201),
      `no ${kind} was stored`,
    );
  for (const { status, message } of answers)
    assert.ok([201, 422].includes(status) || /too large/i.test(message), `${status} ${message}`);
  const tooLarge = answers.filter(({ message }) => /spec: is larger than 256 KiB/.test(message));
  assert.ok(tooLarge.length > 20, `${tooLarge.length} were refused for their size`);
  for (const kind of stored.keys()) await remove(kind);
});

/** How many of them are judged before the API server gives up waiting is a matter of the machine's speed. */
test('requests as large as the API server takes them, many at once, are judged or not let through', async () => {
  const a = `\u{1f9a6}${'x'.repeat(2_900_000)}`;
  const large: KubeObject = {
    apiVersion: 'vmcp.dev/v1beta1',
    kind: 'VirtualMCPServer',
    metadata: { name: 'large', namespace: 'hostile' },
    spec: { groupRef: { name: 'one' }, incomingAuth: { type: 'anonymous' }, config: { metadata: { a } } },
  };
  const isJudged = ({ status, message }: Answered): boolean => status === 422 && /is larger than 256 KiB/.test(message);
  let answers: readonly Answered[] = [];
  const send = (): Promise<Answered> => trial.send('POST', large, 'dryRun=All');
  assertHarmless(await trial.during(async () => (answers = await Promise.all(Array.from({ length: 40 }, send)))));
  for (const answer of answers.filter((answered) => !isJudged(answered))) {
    assert.equal(answer.status, 500, answer.message);
    assert.match(answer.message, /failed calling webhook "validate\.vmcp\.dev"/);
  }
  assert.ok(answers.some(isJudged));
  const fewer = await Promise.all(Array.from({ length: 16 }, send));
  const judged = fewer.filter(isJudged);
  assert.ok(judged.length >= fewer.length / 2, `${judged.length} were judged`);
});

/** Sends it so often, so many at a time. */
const sendOften = async (
  count: number,
  atOnce: number,
  send: () => Promise<Answered>,
): Promise<readonly Answered[]> => {
  const answers: Answered[] = [];
  const waiting = Array.from({ length: count }, () => send).values();
  const sendNext = async (): Promise<void> => {
    for (const next of waiting) answers.push(await next());
  };
  await Promise.all(Array.from({ length: atOnce }, sendNext));
  return answers;
};

test('small requests about objects that lead to much: dry runs of changes and of deletions', async () => {
  const anonymous = { groupRef: { name: 'one' }, incomingAuth: { type: 'anonymous' } };
  const compositeToolRefs = Array.from({ length: 1_000 }, (_, index) => ({ name: `absent-${index}` }));
  const naming = hostileObject('VirtualMCPServer', 'naming', { ...anonymous, config: { compositeToolRefs } });
  const tools = [{ workload: 'a', toolConfigRef: { name: 'named' } }];
  const large = Array.from({ length: 10 }, (_, index) =>
    hostileObject(
      'VirtualMCPServer',
      `large-${index}`,
      { ...anonymous, config: { aggregation: { tools }, metadata: { a: 'x'.repeat(200_000) } } },
      { a: 'x'.repeat(200_000) },
    ),
  );
  const named = hostileObject('MCPToolConfig', 'named', { toolsFilter: ['a'] });
  const ports = Array.from({ length: 1_990 }, (_, index) => ({ containerPort: 60_000 - index }));
  const containers = [{ name: 'vmcp', ports }];
  const descending = hostileObject('VirtualMCPServer', 'ports', {
    ...anonymous,
    podTemplateSpec: { spec: { containers } },
  });
  const refused: Answered[] = [];
  const harm = await trial.during(async () => {
    refused.push(...(await sendAll([named, naming, descending, ...large])).filter(({ status }) => status !== 201));
    const change = { ...naming, spec: { config: { metadata: { changed: 'yes' } } } };
    const changes = sendOften(60, 12, () => trial.send('PATCH', change, 'dryRun=All'));
    const deletions = sendOften(200, 50, () => trial.send('DELETE', named, 'dryRun=All'));
    const answers = [...(await changes), ...(await deletions)];
    assert.ok(answers.filter(({ status }) => status === 403 || status === 422 || status === 200).length > 60);
  });
  assertHarmless(harm);
  assert.deepEqual(refused, []);
  await remove('virtualmcpserver');
});

test('many members in front of many servers, and a spec that changes all the time', async () => {
  const remoteUrl = 'https://a.example.com/mcp';
  const members = Array.from({ length: 400 }, (_, index) =>
    hostileObject('MCPServerEntry', `e${index}`, {
      groupRef: { name: 'many' },
      remoteUrl,
      transport: 'streamable-http',
    }),
  );
  const servers = Array.from({ length: 8 }, (_, index) =>
    hostileObject('VirtualMCPServer', `s${index}`, { groupRef: { name: 'many' }, incomingAuth: { type: 'anonymous' } }),
  );
  const harm = await trial.during(async () => {
    await sendAll([hostileObject('MCPGroup', 'many', {}), ...members, ...servers]);
    for (let round = 0; round < 100; round += 1) {
      const config = { metadata: { round: String(round) } };
      const { status } = await trial.send('PATCH', hostileObject('VirtualMCPServer', 's0', { config }));
      assert.equal(status, 200);
    }
  });
  assertHarmless(harm);
  const expected = 1 + members.length + 5 * servers.length;
  assert.ok(harm.writes >= expected && harm.writes < 2 * expected, `${harm.writes} writes`);
});
