import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, test, type TestContext } from 'node:test';
import { openConnection, type Connection } from '../../../../runtime/backends/http/connection.ts';
import { ResponseTooLargeError } from '../../../../runtime/backends/http/event-reader.ts';
import { ByteBudget } from '../../../../runtime/process/byte-budget.ts';
import { runInBatch } from '../../../../runtime/process/run-in-batch.ts';
import { VmcpError } from '../../../../runtime/errors.ts';
import type { BackendRequest } from '../../../../runtime/outgoing/index.ts';
import { answerStatus, type Behaviour, type FixtureBackend, hang, startBackend } from '../../../fixtures/backend.ts';
import { joined } from '../../../../runtime/json/text-pieces.ts';
import { until } from '../../../cluster/until.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';
import { neverIdle } from '../../../fixtures/idle-timeout.ts';

const LIMITS = {
  connections: 8,
  controlConnections: 2,
  streamConnections: 8,
  maxResponseBytes: 10_000,
  uncountedBytes: 100,
  connectTimeoutMs: 1_000,
};
const BODY = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}');

let backend: FixtureBackend;
let connection: Connection;
let answers: ByteBudget;

beforeEach(async () => {
  backend = await startBackend({ isStateless: true });
  answers = new ByteBudget(15_000);
  connection = openConnection(new URL(backend.url).origin, LIMITS, { clock: frozenClock(), answers });
});
afterEach(async () => {
  await connection.destroy();
  await backend.close();
});

const request = (more: Partial<BackendRequest> = {}): BackendRequest => ({
  method: 'POST',
  path: '/mcp',
  headers: ['content-type', 'application/json'],
  body: BODY,
  onMessage: () => 'other',
  idleTimeout: neverIdle,
  ...more,
});

/** Begins to answer with this, and goes no further. */
const begins =
  (type: string, text: string): Behaviour =>
  ({ response }) => {
    response.writeHead(200, { 'content-type': type });
    response.write(text);
  };

const isBusy = (error: unknown): boolean => error instanceof VmcpError && error.code === 'busy';

describe('the responses of all backends', () => {
  for (const [what, type, start] of [
    ['bodies', 'application/json', '{"x":"'],
    ['events', 'text/event-stream', 'data: {"x":"'],
  ] as const) {
    test(`share room: the large one too many is refused (${what})`, async () => {
      backend.set({ on: () => begins(type, start + 'y'.repeat(8_000)) });
      const first = connection.fetch(request());
      first.catch(() => {});
      while (answers.taken < 8_000) await new Promise((resolve) => setImmediate(resolve));
      await assert.rejects(connection.fetch(request()), isBusy);
      assert.ok(answers.taken >= 8_000 && answers.taken < 9_000);
    });
  }

  test('give their room back, whether they end well or not', async () => {
    backend.set({
      on:
        () =>
        ({ response }) =>
          void response.end('x'.repeat(9_000)),
    });
    for (let sent = 0; sent < 3; sent += 1) assert.equal((await connection.fetch(request())).body.length, 9_000);
    backend.set({
      on:
        () =>
        ({ response }) =>
          void response.end('x'.repeat(11_000)),
    });
    await assert.rejects(connection.fetch(request()), ResponseTooLargeError);
    assert.equal(answers.taken, 0);
  });

  test('give it back between the messages of a stream that stays open', async () => {
    const stream = Promise.withResolvers<{ write: (text: string) => void }>();
    backend.set({
      on:
        () =>
        ({ response }) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write(`data: ${'x'.repeat(8_000)}`);
          stream.resolve(response);
        },
    });
    const heard = Promise.withResolvers<void>();
    const endless = connection.fetch(request({ lane: 'stream', onMessage: () => (heard.resolve(), 'other') }));
    endless.catch(() => {});
    while (answers.taken < 8_000) await new Promise((resolve) => setImmediate(resolve));
    (await stream.promise).write('\n\n');
    await heard.promise;
    while (answers.taken > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  test('arrive whole, however small their pieces are', async () => {
    const text = 'abcdefghij'.repeat(50);
    backend.set({
      on:
        () =>
        ({ response }) => {
          for (const letter of text) response.write(letter);
          response.end();
        },
    });
    assert.equal((await connection.fetch(request())).body.toString(), text);
  });
});

test('a body that drips in refreshes the idle timeout once', async () => {
  let heard = 0;
  backend.set({
    on:
      () =>
      async ({ response }) => {
        for (const letter of 'slowly') {
          response.write(letter);
          await new Promise((resolve) => setImmediate(resolve));
        }
        response.end();
      },
  });
  await connection.fetch(
    request({ idleTimeout: { refresh: () => (heard += 1), pause: () => () => {}, onAbandoned: () => {} } }),
  );
  assert.equal(heard, 1);
});

test('a whole answer keeps its room until it goes on to its client', async () => {
  const body = 'x'.repeat(9_000);
  backend.set({ on: () => (answering) => void answering.response.end(body) });
  const taken = new Set<number>();
  let isOver = false;
  // Before whatever the turn brings goes on.
  const look = (): void =>
    runInBatch(() => {
      taken.add(answers.taken);
      if (!isOver) look();
    });
  look();
  await connection.fetch(request());
  isOver = true;
  assert.equal(taken.has(body.length), true);
  assert.equal(answers.taken, 0);
});

test('calls that hang leave the control lane free', async () => {
  backend.set({ on: ({ recorded }) => (recorded.http === 'DELETE' ? answerStatus(204) : hang) });
  const hanging = Array.from({ length: 20 }, () => connection.fetch(request()));
  for (const each of hanging) each.catch(() => {});
  await backend.received(() => backend.requests.length === LIMITS.connections);
  const { status } = await connection.fetch(request({ method: 'DELETE', body: undefined, lane: 'control' }));
  assert.equal(status, 204);
});

describe('streams that stay open', () => {
  test('have sockets of their own; one too many fails at once, until one has ended', async () => {
    backend.set({ on: () => begins('text/event-stream', ':\n\n') });
    const aborts: ((reason: Error) => void)[] = [];
    const idleTimeout = {
      refresh: () => {},
      pause: () => () => {},
      onAbandoned: (abort: (reason: Error) => void) => void aborts.push(abort),
    };
    const stream = () => connection.fetch(request({ lane: 'stream', idleTimeout }));
    const open = Array.from({ length: LIMITS.streamConnections }, () => stream().catch(() => 'over'));
    await until('all streams', async () => (backend.requests.length === open.length ? true : undefined));
    const refused = (error: unknown): boolean => error instanceof VmcpError && error.code === 'backend_unavailable';
    await assert.rejects(stream(), refused);
    backend.set({ isStateless: true });
    assert.equal((await connection.fetch(request({ onMessage: () => 'answer' }))).status, 200);
    aborts[0]?.(new Error('no longer wanted'));
    assert.equal(await open[0], 'over');
    backend.set({ on: () => answerStatus(405) });
    await until('a free socket', async () => (await stream().catch(() => undefined))?.status);
    for (const abort of aborts) abort(new Error('no longer wanted'));
    await Promise.all(open);
  });
});

describe('a body in pieces', () => {
  const long = { body: joined([BODY, Buffer.alloc(8_000_000, ' '), BODY]) };

  /** A server that reads no more than the beginning of a request, and does this. */
  const answering = async (t: TestContext, on: (socket: Socket) => void): Promise<Connection['fetch']> => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => on(socket.pause()));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const { fetch, destroy } = openConnection(`http://127.0.0.1:${port}`, LIMITS, { clock: frozenClock(), answers });
    t.after(() => destroy().then(() => server.close()));
    return fetch;
  };

  test('may be answered before all of it is read, and leaves nothing to the next request', async (t) => {
    let requests = 0;
    const fetch = await answering(t, (socket) => {
      requests += 1;
      socket.write(`HTTP/1.1 413 Content Too Large\r\ncontent-length: 1\r\n\r\n${requests}`);
    });
    for (const nth of ['1', '2']) {
      const { status, body } = await fetch(request(long));
      assert.deepEqual([status, body.toString()], [413, nth]);
    }
  });

  test('fails with the connection that breaks under it', async (t) => {
    const fetch = await answering(t, (socket) => socket.destroy());
    await assert.rejects(fetch(request(long)));
  });

  test('is aborted when its answer is not needed any more', async (t) => {
    const begun = Promise.withResolvers<Socket>();
    const fetch = await answering(t, begun.resolve);
    let abandon: ((reason: Error) => void) | undefined;
    const idleTimeout = {
      refresh: () => {},
      pause: () => () => {},
      onAbandoned: (abort: (reason: Error) => void) => {
        abandon = abort;
      },
    };
    const answer = fetch(request({ ...long, idleTimeout }));
    const socket = await begun.promise;
    const broken = once(socket.resume(), 'close');
    abandon?.(new Error('given up'));
    await assert.rejects(answer, /given up/);
    await broken;
  });
});
