import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type CallerListing, listFor } from '../../../../runtime/backends/discovery/user-lists.ts';
import { type ErrorCode, VmcpError } from '../../../../runtime/errors.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';

const clock = frozenClock();

/** Lists as a user for whom the way to the backend ends as the test says. */
const listOver = (link: CallerListing['link']) =>
  listFor({
    backend: 'a',
    clock,
    idleTimeoutMs: 30_000,
    fetch: () => Promise.reject(new Error('nothing is sent')),
    link,
  });

describe('a backend that cannot be listed for a user', () => {
  for (const [code, status] of [
    ['backend_unauthenticated', 'unauthenticated'],
    ['login_required', 'unauthenticated'],
    ['credential_unavailable', 'unauthenticated'],
    ['backend_unreachable', 'unavailable'],
    ['backend_timeout', 'unavailable'],
    ['internal', 'unavailable'],
  ] as const satisfies readonly (readonly [ErrorCode, string])[])
    test(`for ${code} is ${status}, and is told why`, async () => {
      const error = new VmcpError(code, 'why');
      const listed = await listOver(() => Promise.reject(error));
      assert.deepEqual(listed, { name: 'a', status, message: 'why', error });
      assert.deepEqual(clock.pending(), []);
    });

  test('is unavailable after 10 s, and no request of it may be silent for longer', async () => {
    const listing = listOver(
      ({ signal, idleTimeoutMs }) =>
        new Promise((_resolve, reject) => {
          assert.equal(idleTimeoutMs, 10_000);
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    );
    clock.advance(9_999);
    assert.equal(clock.pending().length, 1);
    clock.advance(1);
    const { status, message } = await listing;
    assert.deepEqual([status, message], ['unavailable', 'backend "a" did not list in time']);
  });
});
