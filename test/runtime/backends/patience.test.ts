import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, test } from 'node:test';
import { patiently } from '../../../runtime/backends/patience.ts';
import { VmcpError } from '../../../runtime/errors.ts';
import type { Attention } from '../../../runtime/outgoing/index.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';

const MINUTE = 60_000;

/** A wait for work that never ends by itself. */
const waitFor = (silenceMs: number) => {
  const clock = frozenClock();
  let attention: Attention | undefined;
  let outcome: unknown;
  const over = patiently(clock, {
    backend: 'a',
    silenceMs,
    work: (given) => {
      attention = given;
      return new Promise<never>(() => {});
    },
  }).catch((error: unknown) => {
    outcome = error;
  });
  const settled = async (): Promise<unknown> => {
    await new Promise((resolve) => setImmediate(resolve));
    return outcome;
  };
  return { clock, over, settled, heard: () => attention?.heard() };
};

describe('a call that is heard of', () => {
  test('goes on for as long as it is never silent for too long', async () => {
    const { clock, settled, heard } = waitFor(10 * MINUTE);
    for (let heardOf = 0; heardOf < 3; heardOf += 1) {
      clock.advance(9 * MINUTE);
      heard();
    }
    assert.equal(await settled(), undefined);
  });

  for (const silenceMs of [10 * MINUTE, 60 * MINUTE]) {
    test(`ends after 30 minutes sharp, with a silence of ${silenceMs / MINUTE} minutes allowed`, async () => {
      const { clock, settled, heard } = waitFor(silenceMs);
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
  const common = { backend: 'a', silenceMs: MINUTE, signal };
  await patiently(frozenClock(), { ...common, work: () => Promise.resolve(1) });
  await patiently(frozenClock(), { ...common, work: () => Promise.reject(new Error('no')) }).catch(() => {});
  assert.equal(getEventListeners(signal, 'abort').length, 0);
});
