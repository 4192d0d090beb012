import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Caller } from '../../runtime/call/caller.ts';
import { VmcpError } from '../../runtime/errors.ts';
import type { Gate } from '../../runtime/gate/index.ts';
import type { Running } from '../../runtime/start.ts';
import { errorOf, resultText } from '../fixtures/answers.ts';
import { type FixtureBackend, startBackend } from '../fixtures/backend.ts';
import { frozenClock } from '../fixtures/frozen-clock.ts';
import { bearer, tokenGate } from '../fixtures/gates.ts';
import { LISTEN_HEADERS, listenRequest } from '../fixtures/listening.ts';
import { INITIALIZE, post } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';

const clock = frozenClock();
const LATER = clock.now() + 3_600_000;
const alice = bearer('alice', LATER);
const bob = bearer('bob', LATER);

describe('who sends a request', () => {
  let backend: FixtureBackend;
  let running: Running;
  /** Who was let in, or `nobody`, for each time that was asked. */
  const asked: string[] = [];

  before(async () => {
    backend = await startBackend();
    const { authenticate, ...rest } = tokenGate(clock.now);
    const gate: Gate = {
      ...rest,
      // An introspection endpoint takes its time.
      authenticate: async (head): Promise<Caller> => {
        asked.push('nobody');
        await setImmediate();
        const caller = await authenticate(head);
        asked[asked.length - 1] = caller.kind === 'user' ? caller.subject : caller.kind;
        return caller;
      },
    };
    running = await startRuntime(configFile({ a: backend.url }), {}, { clock, features: () => ({ gate }) });
  });
  after(async () => {
    await running.stop();
    await backend.close();
  });
  beforeEach(() => void asked.splice(0));

  const open = async (who: Record<string, string>): Promise<Record<string, string>> => {
    const { headers } = await post(running.url, INITIALIZE, who);
    return { ...who, 'mcp-session-id': headers.get('mcp-session-id') ?? '' };
  };
  const call = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'a_echo' } });
  const stream = (path: string, headers: Record<string, string>) =>
    fetch(new URL(path, running.url), { headers: { accept: 'text/event-stream', ...headers } });

  test('is found out once for each, whatever it is', async () => {
    const session = await open(alice);
    assert.equal(resultText(await post(running.url, call(1), session)), 'echo undefined');
    await post(running.url, { jsonrpc: '2.0', method: 'notifications/initialized' }, session);
    await (await stream('/mcp', session)).body?.cancel();
    const listening = await fetch(running.url, {
      method: 'POST',
      headers: { ...LISTEN_HEADERS, ...alice },
      body: listenRequest({ toolsListChanged: true }),
    });
    await listening.body?.cancel();
    await fetch(running.url, { method: 'DELETE', headers: session });
    assert.deepEqual(
      asked,
      Array.from({ length: 6 }, () => 'alice'),
    );
  });

  test('is found out once for each message over HTTP+SSE, and a stream hears nothing of what others send to it', async () => {
    const opened = await stream('/sse', alice);
    const reader = opened.body?.pipeThrough(new TextDecoderStream()).getReader();
    const [, address = ''] = /data: (\S+)/.exec((await reader?.read())?.value ?? '') ?? [];
    const to = new URL(address, running.url).href;
    assert.equal((await post(to, INITIALIZE, alice)).status, 202);
    assert.match((await reader?.read())?.value ?? '', /"protocolVersion"/);
    assert.equal((await post(to, INITIALIZE, {})).status, 401);
    assert.equal((await post(to, call(2), bob)).status, 404);
    assert.equal((await post(to, call(3), alice)).status, 202);
    assert.match((await reader?.read())?.value ?? '', /"id":3,"result"/);
    assert.deepEqual(asked, ['alice', 'alice', 'nobody', 'bob', 'alice']);
    await reader?.cancel();
  });

  test('decides before the body is sent', async () => {
    const { hostname, port } = new URL(running.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 4000000\r\n\r\n',
    );
    const [head] = (await new Promise<Buffer>((resolve) => socket.once('data', resolve))).toString().split('\r\n\r\n');
    assert.match(head ?? '', /^HTTP\/1\.1 401 /);
    assert.match(head ?? '', /^www-authenticate: Bearer error="invalid_token"$/im);
    socket.destroy();
  });

  test('is not waited for without end, and what cannot be said is cut off', async (t) => {
    const waits = Promise.withResolvers<void>();
    const hanging: Gate = {
      ...tokenGate(clock.now),
      authenticate: ({ headers }): Promise<Caller> => {
        if (headers.authorization === undefined) {
          waits.resolve();
          return new Promise(() => {});
        }
        const data = { odd: 1n };
        throw new VmcpError('forbidden', 'no', { data });
      },
    };
    const slow = await startRuntime(configFile({ a: backend.url }), {}, { clock, features: () => ({ gate: hanging }) });
    t.after(() => slow.stop());
    const answer = post(slow.url, INITIALIZE);
    await waits.promise;
    await setImmediate();
    clock.advance(10_000);
    assert.equal((await answer).status, 503);
    await assert.rejects(post(slow.url, INITIALIZE, alice));
    assert.equal((await fetch(new URL('/health', slow.url))).status, 200);
  });

  test('has a session to themselves: for another it is unknown, goes on, and takes no large body', async () => {
    const session = await open(alice);
    const stolen = { ...session, ...bob };
    const answers = [
      await post(running.url, call(1), stolen),
      await post(
        running.url,
        { ...call(2), params: { name: 'a_echo', arguments: { x: 'x'.repeat(100_000) } } },
        stolen,
      ),
    ];
    for (const answer of answers) {
      assert.equal(answer.status, 404);
      assert.equal(errorOf(answer).data.reason, 'session_not_found');
    }
    assert.equal((await stream('/mcp', stolen)).status, 404);
    assert.equal((await fetch(running.url, { method: 'DELETE', headers: stolen })).status, 404);
    assert.equal((await post(running.url, call(3), session)).status, 200);
  });

  test('may come with a newer token to a session that began with another', async () => {
    const session = await open(bearer('alice', clock.now() + 1_000));
    clock.advance(1_000);
    assert.equal((await post(running.url, call(1), session)).status, 401);
    assert.equal((await post(running.url, call(1), { ...session, ...alice })).status, 200);
  });
});
