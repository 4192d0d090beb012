import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { reasonOf, resultOf, resultText } from '../../fixtures/answers.ts';
import { type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { frozenClock, type FrozenClock } from '../../fixtures/frozen-clock.ts';
import { bearer, tokenGate } from '../../fixtures/gates.ts';
import { sendModern } from '../../fixtures/modern-caller.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { startTokenEndpoint, type TokenEndpoint } from '../../fixtures/token-endpoint.ts';
import { until } from '../../cluster/until.ts';

const ENDS_AT = Date.UTC(2026, 0, 2);

describe('while the credential for one backend is not to be had, and nobody says so', () => {
  let clock: FrozenClock;
  let endpoints: Readonly<Record<'silent' | 'well', TokenEndpoint>>;
  let backends: Readonly<Record<'open' | 'silent' | 'well', FixtureBackend>>;
  let running: Running;

  const start = async (more: object = {}): Promise<void> => {
    const exchanging = (name: keyof typeof endpoints) => ({
      type: 'token_exchange',
      tokenExchange: { tokenUrl: endpoints[name].url },
    });
    const urls = { open: backends.open.url, silent: backends.silent.url, well: backends.well.url };
    const outgoingAuth = {
      source: 'inline',
      backends: { silent: exchanging('silent'), well: exchanging('well') },
    };
    const features = () => ({ gate: tokenGate(clock.now) });
    running = await startRuntime(configFile(urls, { outgoingAuth, ...more }), {}, { clock, features });
    const statusOf = (name: string) => running.status().backends.find((each) => each.name === name)?.status;
    await until('its lists', async () => statusOf('open') === 'ready' || undefined, { intervalMs: 1 });
  };
  beforeEach(async () => {
    clock = frozenClock();
    endpoints = { silent: await startTokenEndpoint(), well: await startTokenEndpoint() };
    endpoints.silent.instead = () => {};
    backends = { open: await startBackend(), silent: await startBackend(), well: await startBackend() };
  });
  afterEach(async () => {
    clock.advance(60_000);
    const stopped = running.stop();
    for (const each of [...Object.values(backends), ...Object.values(endpoints)]) await each.close();
    clock.advance(60_000);
    await stopped;
  });

  const headers = () => bearer('alice', ENDS_AT);
  /** Ten seconds after the silent endpoint was asked. */
  const givenUp = async (): Promise<void> => {
    await until('a request', async () => endpoints.silent.exchanges.length > 0 || undefined, { intervalMs: 1 });
    clock.advance(10_000);
  };

  test('calls of the others are answered, a user’s first ones included', async () => {
    await start();
    const modern = (name: string) => sendModern(running.url, { name, headers: headers() });
    const session = await openSession(running.url, {}, headers());
    for (const name of ['open_echo', 'well_echo'])
      assert.deepEqual(
        [resultText(await modern(name)), resultText(await session.call(name))],
        ['echo undefined', 'echo {}'],
      );
    assert.equal(endpoints.well.exchanges.length, 1);
    assert.equal(endpoints.silent.exchanges.length, 1);
    // The lists of the silent one were read together with those of the others.
    const late = modern('silent_echo');
    await givenUp();
    assert.equal(reasonOf(await late), 'backend_timeout');
  });

  test('a list waits for it, and then shows the others', async () => {
    await start({ operational: { failureHandling: { partialFailureMode: 'best_effort' } } });
    const listed = sendModern(running.url, { method: 'tools/list', name: '', headers: headers() });
    assert.equal(
      resultText(await sendModern(running.url, { name: 'well_echo', headers: headers() })),
      'echo undefined',
    );
    await givenUp();
    const names = (resultOf(await listed)['tools'] as readonly { readonly name: string }[]).map(({ name }) => name);
    assert.deepEqual(names, ['open_echo', 'well_echo']);
  });

  test('a name that does not tell its backend is looked for in all lists', async () => {
    await start({
      aggregation: {
        conflictResolution: 'priority',
        conflictResolutionConfig: { priorityOrder: ['silent', 'open', 'well'] },
      },
    });
    const called = sendModern(running.url, { name: 'echo', headers: headers() });
    await givenUp();
    assert.equal(resultText(await called), 'echo undefined');
    assert.equal(backends.open.requests.filter(({ method }) => method === 'tools/call').length, 1);
  });
});
