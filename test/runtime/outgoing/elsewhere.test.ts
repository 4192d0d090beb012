import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { resultText } from '../../fixtures/answers.ts';
import { type BackendOptions, type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { bearer, tokenGate } from '../../fixtures/gates.ts';
import { sendModern } from '../../fixtures/modern-caller.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { exchangedIn, startTokenEndpoint, type TokenEndpoint } from '../../fixtures/token-endpoint.ts';

const headers = bearer('alice', Date.now() + 3_600_000);

describe('the credential of a user for one backend', () => {
  let endpoint: TokenEndpoint;
  let elsewhere: FixtureBackend;
  let backend: FixtureBackend;
  let running: Running;

  const file = (url: string, transport: 'streamable-http' | 'sse') =>
    configFile(
      { a: url },
      {
        outgoingAuth: {
          source: 'inline',
          default: { type: 'token_exchange', tokenExchange: { tokenUrl: endpoint.url } },
        },
      },
      transport,
    );
  const start = async (on?: BackendOptions['on'], transport: 'streamable-http' | 'sse' = 'streamable-http') => {
    backend = await startBackend(on && { on });
    const features = () => ({ gate: tokenGate(Date.now) });
    running = await startRuntime(file(backend.url, transport), {}, { features });
  };

  beforeEach(async () => {
    endpoint = await startTokenEndpoint();
    elsewhere = await startBackend();
  });
  afterEach(async () => {
    await running.stop();
    for (const each of [backend, elsewhere, endpoint]) await each.close();
  });

  for (const transport of ['streamable-http', 'sse'] as const)
    for (const status of [302, 307])
      test(`goes nowhere by a redirect (${status}, ${transport})`, async () => {
        const location = elsewhere.url;
        await start(
          () =>
            ({ response }) =>
              void response.writeHead(status, { location }).end(),
          transport,
        );
        await sendModern(running.url, { headers });
        const withCredential = backend.requests.filter((each) => each.headers.authorization !== undefined);
        assert.ok(withCredential.length > 0);
        assert.deepEqual(elsewhere.requests, []);
      });

  test('is another one when the backend has moved, amid calls too', async () => {
    await start();
    const session = await openSession(running.url, {}, headers);
    await session.call('a_echo');
    const calls = Array.from({ length: 20 }, (_each, n) => session.call('a_echo', { n }));
    const moved = file(elsewhere.url, 'streamable-http');
    assert.equal(running.reload(moved).ok, true);
    const answers = await Promise.all(calls);
    assert.deepEqual(
      answers.map(resultText),
      answers.map((_each, n) => `echo {"n":${n}}`),
    );
    await session.call('a_echo');
    const shownTo = (to: FixtureBackend) =>
      new Set(
        to.requests.flatMap((each) => exchangedIn(each.headers.authorization)?.slice(0, 'exchanged 1'.length) ?? []),
      );
    assert.deepEqual([shownTo(backend), shownTo(elsewhere)], [new Set(['exchanged 1']), new Set(['exchanged 2'])]);
  });
});
