import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { ByteBudget } from '../../../runtime/process/byte-budget.ts';
import type { Inbound } from '../../../runtime/call/inbound.ts';
import type { OpenStream, Reply } from '../../../runtime/call/reply.ts';
import { hostCheck } from '../../../runtime/edge/index.ts';
import { type Endpoint, mcpEndpoint } from '../../../runtime/edge/endpoint.ts';
import { systemClock } from '../../../runtime/process/system-clock.ts';
import { until } from '../../cluster/until.ts';

const KIB = 1_024;
const SOON = { timeoutMs: 5_000, intervalMs: 5 };
const LARGE = Buffer.alloc(200 * KIB, 'x');

const hosts = hostCheck({ allowedHosts: [], allowedOrigins: [], trustedProxies: [] });

let bodies: ByteBudget;
let answers: ByteBudget;
let isStopping: boolean;
let cuts: string[];
let handle: (request: Inbound) => Promise<Reply>;
let endpoint: Endpoint;
let server: Server;
let url: string;

beforeEach(async () => {
  isStopping = false;
  cuts = [];
  bodies = new ByteBudget(8 * 1_024 * KIB);
  answers = new ByteBudget(64 * 1_024 * KIB);
  endpoint = mcpEndpoint({
    hosts: () => hosts,
    handle: async (request) => {
      await request.receive({ kind: 'anonymous' });
      return handle(request);
    },
    clock: systemClock,
    newCorrelationId: () => 'correlation',
    onFailure: () => {},
    onOutsideAnswer: () => {},
    onCut: (reason, request) => cuts.push(`${request.correlationId()}: ${reason}`),
    isStopping: () => isStopping,
    bounds: {
      requests: 100,
      bodyBytes: 4 * 1_024 * KIB,
      bodyBytesWithoutSession: 4 * 1_024 * KIB,
      bodyYieldsMs: 60_000,
      uncountedBytes: 16 * KIB,
      stallMs: 60_000,
      answerYieldsMs: 60_000,
    },
    connections: {
      sessionOf: () => undefined,
      streamed: (request) => Object.assign(request, { over: () => {} }),
      answer: () => {},
    },
    isSessionKnown: () => true,
    bodies,
    answers,
  });
  server = createServer(endpoint.listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const post = (body: Buffer = LARGE): Promise<Response> =>
  fetch(url, { method: 'POST', body: new Uint8Array(body), headers: { 'content-type': 'application/json' } });

/** A client that sends this much of a request by hand, and reads nothing by itself. */
const byHand = async (method: string, more: readonly string[], body: Buffer): Promise<Socket> => {
  const { hostname, port, host, pathname } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.pause();
  await once(socket, 'connect');
  socket.write(`${[`${method} ${pathname} HTTP/1.1`, `host: ${host}`, ...more].join('\r\n')}\r\n\r\n`);
  socket.write(body);
  return socket;
};

const isFree = (budget: ByteBudget): Promise<true> =>
  until('free room', async () => (budget.taken === 0 ? true : undefined), SOON);

describe('the budgets that all requests share', () => {
  test('is taken for the body of a request until it is answered', async () => {
    const called = Promise.withResolvers<void>();
    const release = Promise.withResolvers<Reply>();
    handle = () => {
      called.resolve();
      return release.promise;
    };
    const answer = post();
    await called.promise;
    assert.equal(bodies.taken, LARGE.length);
    release.resolve({ kind: 'whole', status: 202 });
    await (await answer).text();
    await isFree(bodies);
  });

  test('is taken for an answer until its client has it', async () => {
    handle = async () => ({ kind: 'whole', status: 200, body: LARGE });
    for (let asked = 0; asked < 20; asked += 1) assert.equal((await (await post()).text()).length, LARGE.length);
    await isFree(answers);
    await isFree(bodies);
  });

  test('is given back for clients that hang up while they send, or while they read', async () => {
    const large = Buffer.alloc(32 * 1_024 * KIB);
    handle = async () => ({ kind: 'whole', status: 200, body: large });
    const json = 'content-type: application/json';
    const sending = await byHand('POST', [json, `content-length: ${LARGE.length + 1}`], LARGE);
    await until('its room', async () => (bodies.taken > 0 ? true : undefined), SOON);
    const reading = await byHand('POST', [json, 'content-length: 2'], Buffer.from('{}'));
    await until('its room', async () => (answers.taken > 0 ? true : undefined), SOON);
    sending.destroy();
    reading.destroy();
    await Promise.all([isFree(bodies), isFree(answers)]);
  });

  test('is given back where a stream is the answer, and no request waits for it', async () => {
    handle = async () => ({ kind: 'stream', open: () => {} });
    const { body } = await post();
    await endpoint.idle();
    await body?.cancel();
    await isFree(bodies);
  });
});

test('a client that takes 1 MiB of its stream too slowly is cut off', async () => {
  const opened = Promise.withResolvers<OpenStream>();
  handle = async () => ({ kind: 'stream', open: opened.resolve });
  const client = await byHand('GET', ['accept: text/event-stream'], Buffer.alloc(0));
  const stream = await opened.promise;
  const closed = new Promise<void>((resolve) => stream.onClosed(resolve));
  const message = Buffer.alloc(64 * KIB, 'x');
  let taken = 0;
  // What the kernel takes is not ours to count: far more than its buffers hold, and far less than for ever.
  while (stream.send(message) && taken < 64 * 1_024 * KIB) {
    taken += message.length;
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(taken < 64 * 1_024 * KIB);
  await closed;
  assert.deepEqual(cuts, ['correlation: it is too far behind with what it is sent']);
  client.destroy();
});

describe('a stream that is opened too late', () => {
  test('is abandoned where its client has gone', async () => {
    const reached = Promise.withResolvers<Inbound>();
    const release = Promise.withResolvers<Reply>();
    handle = (request) => {
      reached.resolve(request);
      return release.promise;
    };
    const client = await byHand('GET', ['accept: text/event-stream'], Buffer.alloc(0));
    const request = await reached.promise;
    const gone = new Promise<void>((resolve) => request.onGone(resolve));
    client.destroy();
    await gone;
    const steps: string[] = [];
    release.resolve({
      kind: 'stream',
      open: () => void steps.push('opened'),
      abandon: () => void steps.push('abandoned'),
    });
    await endpoint.idle();
    assert.deepEqual(steps, ['abandoned']);
  });

  test('ends at once where the server stops, unless answers come on it', async () => {
    isStopping = true;
    const opened: OpenStream[] = [];
    handle = async () => ({ kind: 'stream', open: (stream) => void opened.push(stream) });
    const headers = { accept: 'text/event-stream' };
    assert.equal(await (await fetch(url, { headers })).text(), '');
    const answers = await fetch(new URL('/sse', url), { headers });
    opened[1]?.send(Buffer.from('an answer'));
    opened[1]?.end();
    assert.match(await answers.text(), /an answer/);
  });
});

describe('a client that sends a body to its end before it reads', () => {
  const sendsAll = async (headers: readonly string[], body: Buffer): Promise<string> => {
    const socket = await byHand('POST', ['content-type: application/json', ...headers], body);
    await new Promise((resolve) => socket.write('', resolve));
    socket.resume();
    let text = '';
    for await (const chunk of socket) text += String(chunk);
    return text;
  };

  for (const [how, headers, frame] of [
    ['announced', (body: Buffer) => [`content-length: ${body.length}`], (body: Buffer) => body],
    [
      'in chunks',
      () => ['transfer-encoding: chunked'],
      (body: Buffer) =>
        Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]),
    ],
  ] as const)
    test(`is answered that it is too large (${how})`, async () => {
      const body = Buffer.alloc(6 * 1_024 * KIB, 'x');
      for (let asked = 0; asked < 5; asked += 1)
        assert.match(await sendsAll(headers(body), frame(body)), /^HTTP\/1\.1 413 /);
    });

  test('is answered that the budget is exhausted', async () => {
    bodies.take(8_000 * KIB);
    const body = Buffer.alloc(4 * 1_024 * KIB, 'x');
    for (let asked = 0; asked < 5; asked += 1)
      assert.match(await sendsAll([`content-length: ${body.length}`], body), /^HTTP\/1\.1 503 /);
  });

  test('is not waited for once it sends no more', async () => {
    const head = ['content-type: application/json', `content-length: ${6 * 1_024 * KIB}`];
    const socket = await byHand('POST', head, Buffer.alloc(100));
    let text = '';
    for await (const chunk of socket) text += String(chunk);
    assert.match(text, /^HTTP\/1\.1 413 /);
  });

  test('is cut off after 64 MiB', async () => {
    const socket = await byHand(
      'POST',
      ['content-type: application/json', 'content-length: 1000000000'],
      Buffer.alloc(0),
    );
    const broken = new Promise((resolve) => socket.on('close', resolve));
    socket.on('error', () => {});
    socket.resume();
    let sent = 0;
    while (!socket.destroyed && sent < 1_000) {
      sent += 1;
      await new Promise((resolve) => socket.write(Buffer.alloc(1_024 * KIB), resolve));
    }
    await broken;
    assert.ok(sent < 200);
  });
});
