import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { ByteBudget } from '../../../runtime/process/byte-budget.ts';
import type { Inbound } from '../../../runtime/call/inbound.ts';
import type { Reply } from '../../../runtime/call/reply.ts';
import { connectByHand, postBytes } from '../../fixtures/by-hand.ts';
import { DONE, type ServedEndpoint, serveEndpoint } from '../../fixtures/endpoint.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

describe('bodies', () => {
  /** All but the last byte of 40 KiB. */
  const stall = (t: TestContext, { url }: ServedEndpoint, address: string) => {
    const client = connectByHand(t, url);
    const head = { 'x-forwarded-for': address, 'mcp-session-id': 's' };
    client.socket.write(postBytes('x'.repeat(40 * KIB - 1), head, { announced: 40 * KIB }));
    return client;
  };
  const until = async (bodies: ByteBudget, bytes: number): Promise<void> => {
    while (bodies.taken !== bytes) await new Promise((resolve) => setImmediate(resolve));
  };
  const body = 'y'.repeat(40 * KIB);

  test('of one address leave half of the room to others', async (t) => {
    const bodies = new ByteBudget(160 * KIB);
    const served = await serveEndpoint(t, () => DONE, { bodies });
    stall(t, served, '192.0.2.1');
    stall(t, served, '192.0.2.1');
    await until(bodies, 80 * KIB - 2);
    assert.equal((await served.ask('192.0.2.1', body)).status, 503);
    assert.equal((await served.ask('192.0.2.2', body)).status, 200);
  });

  test('that do not come to an end give way to others, the oldest first', async (t) => {
    const bodies = new ByteBudget(160 * KIB);
    const served = await serveEndpoint(t, () => DONE, { bodies });
    const [first, second] = [stall(t, served, '192.0.2.1'), stall(t, served, '192.0.2.1')];
    await until(bodies, 80 * KIB - 2);
    served.clock.advance(1_000);
    assert.equal((await served.ask('192.0.2.1', body)).status, 200);
    await first.closed;
    assert.match(first.text(), /^HTTP\/1\.1 503 .*"reason":"overloaded"/s);
    assert.equal(second.isClosed(), false);
    second.socket.write('x');
    await served.arrived(2);
  });

  test('that are whole do not: their requests have begun', async (t) => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<Reply>();
    const served = await serveEndpoint(t, () => answered, { bodies: new ByteBudget(80 * KIB) });
    const whole = served.ask('192.0.2.1', body);
    await served.arrived(1);
    served.clock.advance(60_000);
    assert.equal((await served.ask('192.0.2.1', body)).status, 503);
    answer(DONE);
    assert.equal((await whole).status, 200);
  });
});

/** More than the kernel takes for a client that does not. */
const LARGE_BYTES = 24 * MIB;
const LARGE: Reply = { kind: 'whole', status: 200, body: Buffer.from(`"${'z'.repeat(LARGE_BYTES - 2)}"`) };

describe('answers', () => {
  const large = ({ body }: Inbound): Reply => (body.includes('large') ? LARGE : DONE);
  /** Asks for an answer and never takes it. */
  const askAndStall = (t: TestContext, { url }: ServedEndpoint, address = '192.0.2.1') => {
    const client = connectByHand(t, url);
    client.socket.pause();
    client.socket.write(postBytes('large', { 'x-forwarded-for': address }));
    return client;
  };

  test('of one address leave half of the room to others', async (t) => {
    const served = await serveEndpoint(t, large, { answers: new ByteBudget(96 * MIB) });
    askAndStall(t, served);
    askAndStall(t, served);
    await served.arrived(2);
    assert.equal((await served.ask('192.0.2.1', 'large')).status, 503);
    assert.equal((await served.ask('192.0.2.2', 'large')).status, 200);
  });

  test('that their clients do not read give way to others', async (t) => {
    const served = await serveEndpoint(t, large, { answers: new ByteBudget(96 * MIB) });
    askAndStall(t, served);
    askAndStall(t, served);
    await served.arrived(2);
    served.clock.advance(5_000);
    assert.equal((await served.ask('192.0.2.1', 'large')).status, 200);
  });

  test('that their clients do not read are cut', async (t) => {
    const answers = new ByteBudget(96 * MIB);
    const served = await serveEndpoint(t, large, { answers, bounds: { stallMs: 50 } });
    askAndStall(t, served);
    await served.arrived(1);
    await served.endpoint.idle();
    assert.equal(answers.taken, 0);
    assert.deepEqual(served.cuts, ['it takes nothing of its answer']);
  });

  test('that are taken slowly come whole', async (t) => {
    const served = await serveEndpoint(t, large, { bounds: { stallMs: 500 } });
    const { socket } = askAndStall(t, served);
    let bytes = 0;
    const begun = performance.now();
    socket.removeAllListeners('data');
    socket.resume();
    for await (const chunk of socket) {
      bytes += (chunk as Buffer).length;
      // In 2 s at the earliest.
      while (performance.now() - begun < (bytes / LARGE_BYTES) * 2_000)
        await new Promise((resolve) => setImmediate(resolve));
      if (bytes >= LARGE_BYTES) break;
    }
    assert.ok(bytes >= LARGE_BYTES);
  });

  test('by event stream are counted while they wait, and no longer', async (t) => {
    const answers = new ByteBudget(64 * MIB);
    const message = Buffer.from(`"${'z'.repeat(24 * MIB)}"`);
    const stream: Reply = { kind: 'stream', open: ({ send }) => void send(message) };
    const served = await serveEndpoint(t, () => stream, { answers });
    const { socket, text } = askAndStall(t, served);
    await served.arrived(1);
    while (answers.taken === 0) await new Promise((resolve) => setImmediate(resolve));
    assert.ok(answers.taken > 24 * MIB);
    socket.resume();
    while (answers.taken > 0) await new Promise((resolve) => setImmediate(resolve));
    while (text().length < message.length) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(socket.closed, false);
  });

  test('by event stream for which there is no room cut it', async (t) => {
    const stream: Reply = { kind: 'stream', open: ({ send }) => void send(Buffer.alloc(20 * KIB, ' ')) };
    const served = await serveEndpoint(t, () => stream, { answers: new ByteBudget(20 * KIB) });
    const client = connectByHand(t, served.url);
    client.socket.write(postBytes('{}'));
    await client.closed;
    assert.deepEqual(served.cuts, ['there is no room for what it has not taken']);
  });
});

test('a request that was refused takes no place, although its client still sends it', async (t) => {
  const { url, ask } = await serveEndpoint(t, () => DONE, { bounds: { requests: 2 } });
  const { socket, text } = connectByHand(t, url);
  const head = { 'content-type': 'text/plain', 'x-forwarded-for': '192.0.2.1' };
  socket.write(postBytes('x', head, { announced: 1_000 }));
  while (!text().startsWith('HTTP/1.1 415 ')) await new Promise((resolve) => setImmediate(resolve));
  assert.equal((await ask('192.0.2.1')).status, 200);
  assert.equal(socket.destroyed, false);
});
