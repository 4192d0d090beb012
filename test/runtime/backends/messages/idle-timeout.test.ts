import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, test } from 'node:test';
import { withIdleTimeout } from '../../../../runtime/backends/messages/idle-timeout.ts';
import { VmcpError } from '../../../../runtime/errors.ts';
import type { IdleTimeout } from '../../../../runtime/outgoing/index.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';

const MINUTE = 60_000;

/** A wait for work that never ends by itself. */
const waitFor = (idleTimeoutMs: number) => {
  const clock = frozenClock();
  let idleTimeout: IdleTimeout | undefined;
  let outcome: unknown;
  const over = withIdleTimeout(clock, {
    backend: 'a',
    idleTimeoutMs,
    work: (given) => {
      idleTimeout = given;
      return new Promise<never>(() => {});
    },
  }).catch((error: unknown) => {
    outcome = error;
  });
  const settled = async (): Promise<unknown> => {
    await new Promise((resolve) => setImmediate(resolve));
    return outcome;
  };
  return { clock, over, settled, heard: () => idleTimeout?.refresh() };
};

describe('a call whose backend sends something', () => {
  test('goes on for as long as it is never silent for too long', async () => {
    const { clock, settled, heard } = waitFor(10 * MINUTE);
    for (let heardOf = 0; heardOf < 3; heardOf += 1) {
      clock.advance(9 * MINUTE);
      heard();
    }
    assert.equal(await settled(), undefined);
  });

  for (const idleTimeoutMs of [10 * MINUTE, 60 * MINUTE]) {
    test(`ends after 30 minutes sharp, with a silence of ${idleTimeoutMs / MINUTE} minutes allowed`, async () => {
      const { clock, settled, heard } = waitFor(idleTimeoutMs);
      for (let minute = 1; minute < 30; minute += 1) {
        clock.advance(MINUTE);
        heard();
      }
      clock.advance(MINUTE - 1);
      assert.equal(await settled(), undefined);
      clock.advance(1);
      const error = await settled();
      assert.ok(error instanceof VmcpError && error.code === 'backend_timeout');
      assert.deepEqual(clock.pending(), []);
    });
  }
});

test('a wait that is over leaves nothing at the signal of its caller', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const common = { backend: 'a', idleTimeoutMs: MINUTE, signal };
  await withIdleTimeout(frozenClock(), { ...common, work: () => Promise.resolve(1) });
  await withIdleTimeout(frozenClock(), { ...common, work: () => Promise.reject(new Error('no')) }).catch(() => {});
  assert.equal(getEventListeners(signal, 'abort').length, 0);
});

describe('a call that its client cancels', () => {
  const cancelled = async (isSent: boolean) => {
    const controller = new AbortController();
    const told: VmcpError[] = [];
    let idleTimeout: IdleTimeout | undefined;
    const outcome = withIdleTimeout(frozenClock(), {
      backend: 'a',
      idleTimeoutMs: MINUTE,
      signal: controller.signal,
      work: (given) => {
        idleTimeout = given;
        // It waits for its credential, and is sent after that.
        given.onAbandoned(() => {}, 'unsent');
        if (isSent) given.onAbandoned(() => {});
        return new Promise<never>(() => {});
      },
      mayStillAnswer: () => true,
      onGivenUp: async (reason) => void told.push(reason),
    }).catch((error: unknown) => error);
    controller.abort(new VmcpError('cancelled_by_client', 'enough'));
    await new Promise((resolve) => setImmediate(resolve));
    let isAborted = false;
    idleTimeout?.onAbandoned(() => (isAborted = true), 'unsent');
    return { told: told.length, isAborted, outcome };
  };

  test('is given up at once where it was not sent: the backend is told nothing, and it is never sent', async () => {
    const { outcome, ...seen } = await cancelled(false);
    assert.deepEqual(seen, { told: 0, isAborted: true });
    assert.match(String(await outcome), /enough/);
  });

  test('may still be answered where it was sent, and the backend is told', async () => {
    const { outcome: _, ...seen } = await cancelled(true);
    assert.deepEqual(seen, { told: 1, isAborted: false });
  });
});
