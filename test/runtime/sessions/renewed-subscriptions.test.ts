import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { until } from '../../cluster/until.ts';
import { answerError, answerStatus, count, type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { listen } from '../../fixtures/listening.ts';
import { openSession, type RawSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

const soon = { timeoutMs: 15_000, intervalMs: 10 };
const URI = 'a://1';
const UPDATED = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"${URI}"}}`;
const WITH_RESOURCES = {
  hasStream: true,
  capabilities: { resources: { subscribe: true }, logging: {} },
  lists: { resources: [`{"uri":"${URI}","name":"1"}`] },
};

describe('what a backend tells between calls', () => {
  let backend: FixtureBackend;
  let running: Running;
  let session: RawSession;
  beforeEach(async () => {
    backend = await startBackend(WITH_RESOURCES);
    running = await startRuntime(configFile({ a: backend.url }));
    session = await openSession(running.url);
    await session.toolNames();
  });
  afterEach(async () => {
    await running.stop();
    await backend.close();
  });

  const listenWithGet = async () => {
    const headers = { accept: 'text/event-stream', 'mcp-session-id': session.id };
    const { body } = await fetch(running.url, { headers });
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
    let heard = '';
    const read = async (): Promise<void> => {
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true };
        if (done) return;
        heard += value;
      }
    };
    void read().catch(() => {});
    return { heard: () => heard, close: () => reader?.cancel() };
  };
  /** The backend has lost its sessions, as after a restart. */
  const forget = (): void => {
    backend.sessions.clear();
    backend.drop();
  };
  const subscribed = (times: number) =>
    until(
      `${times} subscriptions`,
      async () => (count(backend, 'resources/subscribe') === times ? true : undefined),
      soon,
    );
  /** Tells of the resource until somebody has heard of it. */
  const updateUntil = (isHeard: () => boolean) =>
    until(
      'an update that is heard',
      async () => {
        backend.tell(UPDATED);
        return isHeard() ? true : undefined;
      },
      soon,
    );

  test('is relayed again after it has lost its sessions, without a call', async () => {
    const stream = await listenWithGet();
    await session.request('resources/subscribe', { uri: URI });
    forget();
    await subscribed(2);
    await updateUntil(() => stream.heard().includes('resources/updated'));
    await stream.close();
  });

  test('is subscribed to again by the next call where no client listens', async () => {
    await session.request('resources/subscribe', { uri: URI });
    await session.request('resources/subscribe', { uri: 'a://2' });
    await session.request('resources/unsubscribe', { uri: 'a://2' });
    const before = backend.requests.length;
    forget();
    assert.equal((await session.call('a_echo')).status, 200);
    await subscribed(3);
    const [again] = backend.requests.slice(before).filter(({ method }) => method === 'resources/subscribe');
    assert.deepEqual(again?.params, { uri: URI });
  });

  test('reaches a client of 2026-07-28 after the backend has lost its sessions', async () => {
    const stream = await listen(running.url, { resourceSubscriptions: [URI] });
    await stream.next();
    forget();
    await subscribed(2);
    const update = stream.next();
    let isHeard = false;
    void update.then(() => {
      isHeard = true;
    });
    await updateUntil(() => isHeard);
    assert.equal((await update)?.method, 'notifications/resources/updated');
    await stream.close();
  });

  for (const status of [404, 408, 409, 429, 503])
    test(`is relayed although the stream was refused with ${status} at first`, async () => {
      let refusals = 1;
      backend.set({
        ...WITH_RESOURCES,
        on: ({ recorded: { http } }) => {
          if (http !== 'GET' || refusals === 0) return undefined;
          refusals -= 1;
          return answerStatus(status);
        },
      });
      await session.request('resources/subscribe', { uri: URI });
      const stream = await listenWithGet();
      await updateUntil(() => stream.heard().includes('resources/updated'));
      assert.equal(refusals, 0);
      await stream.close();
    });

  test('is not waited for where there is no such stream', async () => {
    backend.set({ ...WITH_RESOURCES, hasStream: false });
    await session.request('resources/subscribe', { uri: URI });
    const stream = await listenWithGet();
    await backend.received(({ http }) => http === 'GET');
    await session.call('a_echo');
    const asked = () => backend.requests.filter(({ http }) => http === 'GET').length;
    assert.equal(asked(), 1);
    await stream.close();
  });
});

describe('resources that clients of 2026-07-28 listen to at an earlier backend', () => {
  let backend: FixtureBackend;
  let running: Running;
  beforeEach(async () => {
    backend = await startBackend(WITH_RESOURCES);
    running = await startRuntime(configFile({ a: backend.url }));
    await (await openSession(running.url)).toolNames();
  });
  afterEach(async () => {
    await running.stop();
    await backend.close();
  });

  const acknowledged = async (uris: readonly string[]) => {
    const stream = await listen(running.url, { resourceSubscriptions: uris });
    const { notifications } = ((await stream.next())?.params ?? {}) as {
      notifications?: { resourceSubscriptions?: unknown };
    };
    return { stream, uris: notifications?.resourceSubscriptions };
  };

  test('share one session and one subscription, ended with the last of them', async () => {
    const before = backend.sessions.size;
    const streams = await Promise.all([acknowledged([URI]), acknowledged([URI]), acknowledged([URI])]);
    assert.equal(backend.sessions.size, before + 1);
    assert.equal(count(backend, 'resources/subscribe'), 1);
    await until('its stream', async () => (backend.streams.size > 0 ? true : undefined), soon);
    backend.tell(UPDATED);
    for (const { stream } of streams) assert.equal((await stream.next())?.method, 'notifications/resources/updated');
    for (const { stream } of streams) await stream.close();
    await until('no session', async () => (backend.sessions.size === before ? true : undefined), soon);
  });

  for (const [what, answer] of [
    ['an error', answerError('{"code":-32601,"message":"no"}')],
    ['HTTP 503', answerStatus(503)],
  ] as const)
    test(`are not acknowledged where the subscription is answered with ${what}`, async () => {
      backend.set({
        ...WITH_RESOURCES,
        on: ({ recorded: { method } }) => (method === 'resources/subscribe' ? answer : undefined),
      });
      const { stream, uris } = await acknowledged([URI]);
      assert.deepEqual(uris, []);
      await stream.close();
    });

  test('end when the backend has another address, and go on there', async () => {
    const other = await startBackend(WITH_RESOURCES);
    const { stream } = await acknowledged([URI]);
    running.reload(configFile({ a: other.url }));
    assert.equal((await stream.next())?.result !== undefined, true);
    assert.equal(await stream.next(), undefined);
    await until('no stream at the old one', async () => (backend.streams.size === 0 ? true : undefined), soon);
    const anew = await acknowledged([URI]);
    assert.deepEqual(anew.uris, [URI]);
    await until('its stream', async () => (other.streams.size > 0 ? true : undefined), soon);
    other.tell(UPDATED);
    assert.equal((await anew.stream.next())?.method, 'notifications/resources/updated');
    await anew.stream.close();
    await other.close();
  });

  test('are so many at most; calls go on beside them', async () => {
    const many = (stream: number) => Array.from({ length: 64 }, (_, each) => `a://${stream}/${each}`);
    backend.set({
      ...WITH_RESOURCES,
      lists: {
        resources: [`{"uri":"${URI}","name":"1"}`],
        resourceTemplates: ['{"uriTemplate":"a://{+rest}","name":"all"}'],
      },
    });
    backend.tell('{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}');
    const streams = await Promise.all(Array.from({ length: 18 }, (_, stream) => acknowledged(many(stream))));
    const heard = streams.flatMap(({ uris }) => uris as readonly string[]);
    assert.equal(heard.length, 1_024);
    assert.equal((await (await openSession(running.url)).call('a_echo')).status, 200);
    for (const { stream } of streams) await stream.close();
  });
});
