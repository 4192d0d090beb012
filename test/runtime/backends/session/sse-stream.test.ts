import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import type { Running } from '../../../../runtime/start.ts';
import { resultText } from '../../../fixtures/answers.ts';
import { type FixtureBackend, startBackend } from '../../../fixtures/backend.ts';
import { type FrozenClock } from '../../../fixtures/frozen-clock.ts';
import { type RawSession } from '../../../fixtures/raw-client.ts';
import { type SseBridge } from '../../../fixtures/sse-bridge.ts';
import { eventually, startSseGateway, stopSseGateway } from '../sse-gateway.ts';

let backend: FixtureBackend;
let bridge: SseBridge;
let running: Running;
let session: RawSession;
let clock: FrozenClock;

const serve = async (...given: Parameters<typeof startSseGateway>): Promise<void> => {
  ({ backend, bridge, running, session, clock } = await startSseGateway(...given));
};
afterEach(() => stopSseGateway({ backend, bridge, running, clock }));

const statusOf = () => running.status().backends[0];

describe('the endpoint that the stream names', () => {
  test('may be a whole address of the same origin', async () => {
    await serve({ endpoint: (stream, origin) => `${origin}/messages?stream=${stream}` });
    assert.deepEqual(await session.toolNames(), ['a_echo']);
  });

  const refused: readonly (readonly [what: string, endpoint: (elsewhere: string) => string, message: RegExp])[] = [
    ['leads to another origin', (elsewhere) => elsewhere, /names an endpoint of another origin$/],
    ['leads to another scheme', () => 'file:///etc/passwd', /names an endpoint of another origin$/],
    ['is no address', () => 'http://[', /names an endpoint that is no address$/],
    ['is too long', () => `/${'x'.repeat(9_000)}`, /names an endpoint that is no address$/],
  ];
  for (const [what, endpoint, message] of refused) {
    test(`is refused when it ${what}, and nothing is sent there`, async () => {
      const elsewhere = await startBackend();
      await serve({ endpoint: () => endpoint(elsewhere.url) });
      assert.deepEqual(await session.toolNames(), []);
      assert.match(statusOf()?.message ?? '', message);
      assert.equal(elsewhere.requests.length + backend.requests.length, 0);
      await eventually('no stream', () => bridge.streams.size === 0);
      await elsewhere.close();
    });
  }

  test('that never comes is not waited for longer than a check may take', async () => {
    await serve({
      on: (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        return true;
      },
    });
    const names = session.toolNames();
    await eventually('the check', () => {
      clock.advance(10_000);
      return statusOf()?.consecutiveFailures !== 0;
    });
    assert.deepEqual(await names, []);
    assert.match(statusOf()?.message ?? '', /did not answer in time/);
  });
});

describe('the stream', () => {
  test('may have moved on the same origin', async () => {
    await serve({
      on: (request, response) => {
        if (request.url !== '/sse') return false;
        response.writeHead(301, { location: '/sse?moved' }).end();
        return true;
      },
    });
    assert.deepEqual(await session.toolNames(), ['a_echo']);
  });

  test('may not have moved to another origin', async () => {
    const elsewhere = await startBackend();
    await serve({
      on: (_request, response) => {
        response.writeHead(301, { location: elsewhere.url }).end();
        return true;
      },
    });
    assert.deepEqual(await session.toolNames(), []);
    assert.equal(elsewhere.requests.length, 0);
    await elsewhere.close();
  });

  for (const [what, status, type, expected, message] of [
    ['a server of Streamable HTTP', 405, 'text/plain', 'unavailable', /its transport may have to be streamable-http$/],
    ['a web page', 200, 'text/html', 'unavailable', /its transport may have to be streamable-http$/],
    ['a server that wants a login', 401, 'text/plain', 'unauthenticated', /it wants a login/],
  ] as const) {
    test(`is not to be had from ${what}`, async () => {
      await serve({
        on: (_request, response) => {
          response.writeHead(status, { 'content-type': type }).end('text');
          return true;
        },
      });
      assert.deepEqual(await session.toolNames(), []);
      assert.match(statusOf()?.message ?? '', message);
      if (expected === 'unauthenticated') assert.equal(statusOf()?.status, expected);
    });
  }

  test('may carry the answer before the request is accepted', async () => {
    await serve({ acceptsLate: true });
    assert.equal(resultText(await session.call('a_echo')), 'echo {}');
  });
});
