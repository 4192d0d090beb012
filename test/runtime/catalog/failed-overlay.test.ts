import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Overlay } from '../../../runtime/catalog/live-catalog.ts';
import { overlays } from '../../../runtime/catalog/index.ts';
import { type ErrorCode, VmcpError } from '../../../runtime/errors.ts';
import type { BackendStatus } from '../../../runtime/status/report.ts';
import { ANYBODY, up, user } from './live-catalog-under-test.ts';
import { listing, own, remembering } from './overlays-under-test.ts';
import { userOf } from '../../fixtures/callers.ts';

describe('what a caller’s own credential adds is remembered', () => {
  describe('where a backend fails', () => {
    const bounds = { users: 2, count: 2, bytes: 1_000, ttlMs: 60_000, failedTtlMs: 5_000 };
    const failed = (status: BackendStatus, code: ErrorCode): Overlay => [
      { name: 'b', status, error: new VmcpError(code, 'no') },
    ];

    /** What x is shown once the backend, which has listed before, was asked again and has failed. */
    const shownAfter = async (failure: Overlay) => {
      const { overlayOf, asked, settle, advance } = remembering(bounds);
      void overlayOf(user('x'));
      asked[0]?.answer.resolve(own('x'));
      await settle();
      advance(60_000);
      void overlayOf(user('x'));
      asked[1]?.answer.resolve(failure);
      await settle();
      const [shown] = (await overlayOf(user('x'))) ?? [];
      return { status: shown?.status, tools: shown?.lists?.tools.map(({ key }) => key), asked, advance, overlayOf };
    };

    for (const [status, code, shown] of [
      ['unavailable', 'backend_timeout', { status: 'unavailable', tools: ['x'] }],
      ['unavailable', 'circuit_open', { status: 'degraded', tools: ['x'] }],
      ['unavailable', 'busy', { status: 'degraded', tools: ['x'] }],
      ['unauthenticated', 'login_required', { status: 'degraded', tools: ['x'] }],
      ['unauthenticated', 'backend_unauthenticated', { status: 'unauthenticated', tools: undefined }],
    ] as const)
      test(`with ${code} its lists are ${shown.tools ? 'kept' : 'gone'}`, async () => {
        const { status: as, tools } = await shownAfter(failed(status, code));
        assert.deepEqual({ status: as, tools }, shown);
      });

    test('it is asked again after 5 s', async () => {
      const { asked, advance, overlayOf } = await shownAfter(failed('unavailable', 'backend_timeout'));
      advance(4_999);
      void overlayOf(user('x'));
      assert.equal(asked.length, 2);
      advance(1);
      void overlayOf(user('x'));
      assert.equal(asked.length, 3);
    });
  });

  describe('where there was no credential', () => {
    const none = (name: string, code: ErrorCode = 'credential_unavailable'): Overlay => [
      { name, status: 'unauthenticated', message: code, error: new VmcpError(code, code) },
    ];
    const asking = async (first: Overlay) => {
      let time = 1_000_000;
      const asked: { readonly names: readonly string[] | undefined; readonly answer: (is: Overlay) => void }[] = [];
      const known = overlays({
        list: (_caller, names) => {
          const { promise, resolve } = Promise.withResolvers<Overlay>();
          asked.push({ names: names && [...names], answer: resolve });
          return listing(promise);
        },
        now: () => time,
      });
      const listed = known.of(user('x'));
      asked[0]?.answer(first);
      await listed;
      const shown = async () => ((await known.of(user('x'))) ?? []).map(({ name, lists }) => `${name} ${!!lists}`);
      return { ...known, asked, shown, advance: (ms: number) => (time += ms) };
    };

    test('only the backends without one are asked again, once for all who wait', async () => {
      const { askAgain, asked, shown, advance } = await asking([...own('x'), ...none('c')]);
      assert.equal(askAgain(user('x')), undefined, 'not within a second');
      advance(1_000);
      const waiting = [askAgain(user('x')), askAgain(user('x'))].map(async (each) => each);
      assert.deepEqual(asked[1]?.names, ['c']);
      asked[1]?.answer([up('c', { tools: ['t'] })]);
      await Promise.all(waiting);
      assert.equal(asked.length, 2);
      assert.deepEqual(await shown(), ['b true', 'c true']);
      assert.equal(askAgain(user('x')), undefined, 'there is nothing left to ask');
    });

    test('a missing sign-in is looked for at every request; the overlay stays the same until there is one', async () => {
      const { of, askAgain, asked } = await asking([...none('b'), ...none('c', 'login_required')]);
      const before = of(user('x'));
      const waiting = askAgain(user('x'));
      assert.deepEqual(asked[1]?.names, ['c']);
      asked[1]?.answer(none('c', 'login_required'));
      await waiting;
      assert.equal(of(user('x')), before);
    });

    test('another token of the user is tried at once, after the one that is being tried', async () => {
      const { askAgain, asked, advance } = await asking(none('b'));
      const newer = userOf('x', { token: 'newer' });
      advance(1_000);
      const waiting = [askAgain(user('x')), askAgain(newer)];
      asked[1]?.answer(none('b'));
      await waiting[0];
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(asked.length, 3);
      asked[2]?.answer(none('b'));
      await waiting[1];
      assert.equal(askAgain(newer), undefined);
    });

    test('others are not asked: nobody without an overlay, no anonymous caller', async () => {
      const { askAgain } = await asking(none('b'));
      assert.deepEqual([askAgain(user('y')), askAgain(ANYBODY)], [undefined, undefined]);
    });
  });
});
