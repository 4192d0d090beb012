import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { taskIdOf } from '../../runtime/call/task-id.ts';
import type { Decided } from '../../runtime/call/around.ts';
import type { Running } from '../../runtime/start.ts';
import { until } from '../cluster/until.ts';
import type { BackendOptions } from '../fixtures/backend.ts';
import { type Listening, listen } from '../fixtures/listening.ts';
import { type LoggedLine, memoryLog } from '../fixtures/memory-log.ts';
import { as, filesWithPolicies, policyFeatures } from '../fixtures/policies.ts';
import { noRedis, startRedis } from '../fixtures/redis.ts';
import { type ClientStream, openShared, type SharedSession, startReplica } from '../fixtures/replicas.ts';
import { startRuntime } from '../fixtures/runtime.ts';
import {
  type ModernWatched,
  startLegacyWatched,
  startModernWatched,
  type WatchedBackend,
} from '../fixtures/watched-backends.ts';

const soon = { timeoutMs: 10_000, intervalMs: 5 };
const UPDATED = 'notifications/resources/updated';
const LISTS_CHANGED = 'notifications/resources/list_changed';
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

const ALL = 'permit(principal, action, resource);';
const forbid = (uri: string): string => `@id("tight") forbid(principal, action, resource == Resource::"${uri}");`;
const authz = (...policies: readonly string[]) => ({ type: 'cedar', policies });
const alice = as('alice');

const is = (what: string, isSo: () => boolean): Promise<true> =>
  until(what, async () => (isSo() ? true : undefined), soon);

const urisTold = ({ messages }: ClientStream): unknown[] =>
  messages.flatMap(({ method, params }) => (method === UPDATED ? (params as { uri: unknown }).uri : []));

describe('watches after a change of policies', () => {
  let legacy: WatchedBackend;
  /** Keeps handshakes with the earlier backend waiting. */
  let handshakes: Promise<unknown> | undefined;
  let modern: ModernWatched;
  let running: Running;
  let lines: readonly LoggedLine[];
  const decided: Decided[] = [];

  const files = (...policies: readonly string[]) =>
    filesWithPolicies({ a: legacy.url, b: modern.url }, authz(...policies));
  const reload = (...policies: readonly string[]): void => {
    assert.deepEqual(running.reload(files(...policies)), { ok: true });
  };
  const subscribe = (session: SharedSession, uri: string, id: string = uri) =>
    session.send(running.url, { id, method: 'resources/subscribe', params: { uri } });
  const inSession = async (): Promise<{ session: SharedSession; stream: ClientStream }> => {
    const session = await openShared(running.url, {}, alice);
    return { session, stream: await session.listen(running.url) };
  };
  const hears = async (resourceSubscriptions: readonly string[]): Promise<Listening> => {
    const stream = await listen(running.url, { resourceSubscriptions }, {}, alice);
    assert.deepEqual((await stream.next())?.params?.['notifications'], { resourceSubscriptions });
    return stream;
  };
  const endsInOrder = async (stream: Listening): Promise<void> => {
    const last = await stream.next();
    assert.equal((last?.result as Record<string, unknown> | undefined)?.['resultType'], 'complete');
    assert.equal(await stream.next(), undefined);
  };
  /** Requests of users about watches that were decided, since the last call. */
  const decisions = () =>
    decided
      .splice(0)
      .map(({ method, watched, refusal, record, request }) => [
        method,
        watched?.name,
        refusal?.code,
        record?.decision?.policies,
        request !== undefined,
      ]);

  const slowHandshake: BackendOptions['on'] = ({ recorded: { method } }) =>
    method === 'notifications/initialized' && handshakes
      ? ({ response }) => void handshakes?.then(() => response.writeHead(202).end())
      : undefined;

  beforeEach(async () => {
    decided.length = 0;
    handshakes = undefined;
    [legacy, modern] = await Promise.all([startLegacyWatched('a', slowHandshake), startModernWatched('b')]);
    const { log, lines: written } = memoryLog();
    lines = written;
    const observer = { onDecided: (each: Decided) => void decided.push(each) };
    running = await startRuntime(
      files(ALL),
      {},
      { log, features: (deps) => ({ ...policyFeatures()(deps), observers: [observer] }) },
    );
    const session = await openShared(running.url, {}, alice);
    await session.send(running.url, { id: 1, method: 'resources/list' });
  });
  afterEach(async () => {
    await running.stop();
    await Promise.all([legacy.close(), modern.close()]);
  });

  for (const [kind, backend, scheme] of [
    ['an earlier backend', () => legacy, 'a'],
    ['a backend of 2026-07-28', () => modern, 'b'],
  ] as const) {
    const [one, two] = [`${scheme}://1`, `${scheme}://2`] as const;

    test(`end a stream that listens at ${kind} for what is forbidden now; a new one is acknowledged the rest`, async () => {
      const stream = await hears([one, two]);
      reload(ALL, forbid(one));
      await endsInOrder(stream);
      await is('nobody watches', () => backend().watching(one) <= 0);
      const again = await listen(running.url, { resourceSubscriptions: [one, two] }, {}, alice);
      assert.deepEqual((await again.next())?.params?.['notifications'], { resourceSubscriptions: [two] });
      await again.close();
      assert.deepEqual(lines.find(({ message }) => message.startsWith('watches ended'))?.fields, {
        streams: 1,
        subscriptions: 0,
      });
    });

    test(`leave a stream that listens at ${kind} where nothing of it is forbidden`, async () => {
      const stream = await hears([one]);
      reload(ALL, forbid(two), '@id("other") permit(principal == Client::"bob", action, resource);');
      await is('a decision under the newer policies', () => backend().watching(one) > 0);
      const fresh = await hears([one]);
      backend().update(one);
      assert.equal((await stream.next())?.method, UPDATED);
      assert.equal((await fresh.next())?.method, UPDATED);
      await Promise.all([stream.close(), fresh.close()]);
    });

    test(`end a subscription of a session at ${kind}, and no update of it is relayed`, async () => {
      const { session, stream } = await inSession();
      await subscribe(session, one);
      await subscribe(session, two);
      backend().update(one);
      await stream.heard(UPDATED);
      reload(ALL, forbid(one));
      await is('it ends at the backend', () => backend().watching(one) === 0);
      await stream.heard(LISTS_CHANGED);
      backend().update(one);
      backend().update(two);
      await is('the other is heard', () => urisTold(stream).includes(two));
      assert.deepEqual(urisTold(stream), [one, two]);
      assert.deepEqual(decisions(), [['resources/subscribe', one, 'forbidden', ['tight'], false]]);
      reload(ALL);
      await subscribe(session, one, 'again');
      backend().update(one);
      await is('it is heard again', () => urisTold(stream).length === 3);
      stream.close();
    });
  }

  test('end a stream that listens for a task which is forbidden now', async () => {
    const taskIds = [taskIdOf({ backend: 'b', ownId: '1' })];
    const stream = await listen(running.url, { taskIds }, TASKS, alice);
    assert.deepEqual((await stream.next())?.params?.['notifications'], { taskIds });
    reload('permit(principal, action == Action::"read_resource", resource);');
    await endsInOrder(stream);
  });

  test('end a stream whose backend answers only after the change', async () => {
    const answers = Promise.withResolvers<void>();
    modern.hold = answers.promise;
    const opening = listen(running.url, { resourceSubscriptions: ['b://1'] }, {}, alice);
    await is('the backend is asked', () => modern.watching('b://1') === 1);
    const later = await hears(['a://1']);
    reload(ALL, forbid('b://1'), 'forbid(principal, action, resource == Resource::"a://1");');
    // The earlier one has been looked at by then.
    await endsInOrder(later);
    answers.resolve();
    const stream = await opening;
    assert.equal((await stream.next())?.method, 'notifications/subscriptions/acknowledged');
    await endsInOrder(stream);
  });

  test('end a subscription whose backend answers only after the change', async () => {
    const { session, stream } = await inSession();
    const answers = Promise.withResolvers<void>();
    modern.hold = answers.promise;
    const answer = subscribe(session, 'b://1');
    await is('the backend is asked', () => modern.watching('b://1') === 1);
    reload(ALL, forbid('b://1'));
    answers.resolve();
    await answer;
    await is('nobody watches', () => modern.watching('b://1') === 0);
    stream.close();
  });

  test('end a subscription that was admitted before the change and sent after it', async () => {
    const { session, stream } = await inSession();
    const opened = Promise.withResolvers<void>();
    handshakes = opened.promise;
    const before = legacy.sessions.size;
    const answer = subscribe(session, 'a://1');
    await is('a session is opened', () => legacy.sessions.size > before);
    reload(ALL, forbid('a://1'));
    opened.resolve();
    assert.equal((await answer).status, 200);
    assert.ok(legacy.requests.some(({ method }) => method === 'resources/subscribe'));
    await is('it ends', () => legacy.watching('a://1') === 0);
    stream.close();
  });

  test('tell of no update of a resource that policies hide, subscribed to or not', async () => {
    reload('permit(principal, action, resource == Resource::"a://1");');
    const { session, stream } = await inSession();
    await subscribe(session, 'a://1');
    for (const uri of ['a://2', 'a://unheard-of', 'a://1']) legacy.update(uri);
    await stream.heard(UPDATED);
    assert.deepEqual(urisTold(stream), ['a://1']);
    legacy.tell(`{"jsonrpc":"2.0","method":"${UPDATED}","params":{}}`);
    legacy.update('a://1');
    await is('the next update', () => urisTold(stream).length > 1);
    assert.deepEqual(urisTold(stream), ['a://1', 'a://1']);
    stream.close();
  });

  test('are decided for each name on record, with the request that asks', async () => {
    reload('permit(principal, action, resource == Resource::"a://1");', forbid('b://1'));
    const stream = await listen(running.url, { resourceSubscriptions: ['a://1', 'b://1', 'b://2'] }, {}, alice);
    await stream.next();
    assert.deepEqual(
      decisions().toSorted((a, b) => String(a[1]).localeCompare(String(b[1]))),
      [
        ['subscriptions/listen', 'a://1', undefined, ['policy0'], true],
        ['subscriptions/listen', 'b://1', 'forbidden', ['tight'], true],
        ['subscriptions/listen', 'b://2', 'forbidden', [], true],
      ],
    );
    await stream.close();
  });
});

for (const kind of ['legacy', 'modern'] as const)
  test(
    `a subscription at a ${kind} backend that policies no longer allow ends at all replicas, and comes back at none`,
    { skip: noRedis },
    async (t) => {
      const redis = await startRedis();
      const backend = await (kind === 'legacy' ? startLegacyWatched('a') : startModernWatched('a'));
      const files = (...policies: readonly string[]) =>
        filesWithPolicies({ a: backend.url }, authz(...policies), {
          sessionStorage: { provider: 'kvstore', address: redis.address },
        });
      const replicas = await Promise.all(
        [1, 2].map(() => startReplica(files(ALL), {}, { features: policyFeatures() })),
      );
      t.after(async () => {
        await Promise.all(replicas.map((replica) => replica.stop()));
        await backend.close();
        await redis.stop();
      });
      const [one, two] = replicas as [Running, Running];
      const session = await openShared(one.url, {}, alice);
      await session.send(one.url, { id: 1, method: 'resources/list' });
      const stream = await session.listen(two.url);
      for (const uri of ['a://1', 'a://2'])
        await session.send(one.url, { id: uri, method: 'resources/subscribe', params: { uri } });
      const toldOf = (uri: string, from: ClientStream): number => urisTold(from).filter((told) => told === uri).length;
      const hear = async (uri: string, from: ClientStream): Promise<void> => {
        const before = toldOf(uri, from);
        const told = async () => {
          backend.update(uri);
          return toldOf(uri, from) > before ? true : undefined;
        };
        await until(uri, told, { timeoutMs: 10_000, intervalMs: 50 });
      };
      await hear('a://1', stream);
      for (const replica of replicas) assert.deepEqual(replica.reload(files(ALL, forbid('a://1'))), { ok: true });
      await is('it ends at the backend', () => backend.watching('a://1') === 0);
      // What was told before has arrived by then.
      await hear('a://2', stream);
      const before = toldOf('a://1', stream);
      backend.update('a://1');
      await hear('a://2', stream);
      assert.equal(toldOf('a://1', stream), before);
      stream.close();
      const again = await session.listen(one.url);
      await session.send(one.url, { id: 3, method: 'ping' });
      await hear('a://2', again);
      backend.update('a://1');
      await hear('a://2', again);
      assert.equal(toldOf('a://1', again), 0);
      assert.equal(backend.watching('a://1'), 0);
      again.close();
    },
  );

test(
  'an update is not relayed of a subscription that was made at a replica which is gone, once policies forbid it',
  { skip: noRedis },
  async (t) => {
    const redis = await startRedis();
    const backend = await startLegacyWatched('a');
    const files = (...policies: readonly string[]) =>
      filesWithPolicies({ a: backend.url }, authz(...policies), {
        sessionStorage: { provider: 'kvstore', address: redis.address },
      });
    const start = () => startReplica(files(ALL), {}, { features: policyFeatures() });
    const [one, two] = [await start(), await start()];
    t.after(async () => {
      await Promise.all([one.stop(), two.stop()]);
      await backend.close();
      await redis.stop();
    });
    const session = await openShared(one.url, {}, alice);
    await session.send(one.url, { id: 1, method: 'resources/list' });
    for (const uri of ['a://1', 'a://2'])
      await session.send(one.url, { id: uri, method: 'resources/subscribe', params: { uri } });
    await one.stop();
    const stream = await session.listen(two.url);
    await session.send(two.url, { id: 2, method: 'resources/list' });
    const hear = async (uri: string): Promise<void> => {
      const before = urisTold(stream).length;
      const told = async () => {
        backend.update(uri);
        return urisTold(stream).slice(before).includes(uri) ? true : undefined;
      };
      await until(uri, told, { timeoutMs: 10_000, intervalMs: 50 });
    };
    await hear('a://1');
    assert.deepEqual(two.reload(files(ALL, forbid('a://1'))), { ok: true });
    await hear('a://2');
    const before = urisTold(stream).filter((uri) => uri === 'a://1').length;
    backend.update('a://1');
    await hear('a://2');
    assert.equal(urisTold(stream).filter((uri) => uri === 'a://1').length, before);
    stream.close();
  },
);
