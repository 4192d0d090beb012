import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Overlay } from '../../../runtime/catalog/live-catalog.ts';
import { overlays } from '../../../runtime/catalog/index.ts';
import type { Listing } from '../../../runtime/catalog/overlay.ts';
import { type ErrorCode, VmcpError } from '../../../runtime/errors.ts';
import type { BackendStatus } from '../../../runtime/status/report.ts';
import { ANYBODY, offerOf, up, user } from './live-catalog-under-test.ts';
import { userOf } from '../../fixtures/callers.ts';

/** Of one backend. */
const listing = (all: Promise<Overlay>): Listing => ({ all, only: () => all });

describe('what a caller’s own credential adds', () => {
  const shared = [up('a', { tools: ['t'] }), { name: 'b', status: 'unauthenticated' } as const];
  const own = (subject: string): Overlay => [up('b', { tools: [subject] })];

  test('is listed and found for that caller alone', async () => {
    const { names, find } = offerOf(shared, {
      overlay: (caller) => (caller.kind === 'user' ? own(caller.subject) : undefined),
    });
    assert.deepEqual(await names(user('x')), ['a_t', 'b_x']);
    assert.deepEqual(await names(user('y')), ['a_t', 'b_y']);
    assert.deepEqual(await names(), ['a_t']);
    assert.equal(await find('b_x', user('x')), 'b');
    await assert.rejects(find('b_x', user('y')), /unknown tool/);
    await assert.rejects(find('b_x'), /unknown tool/);
  });

  test('is joined once for each state of the shared lists, as bytes', async () => {
    const overlay = own('x');
    const { offer, change } = offerOf(shared, { overlay: () => overlay });
    const list = () => offer.list('tools', undefined, user('x'));
    const before = await list();
    assert.equal(await list(), before);
    change([up('a', { tools: ['u'] }), { name: 'b', status: 'unauthenticated' }]);
    assert.match((await list()).toString(), /a_u.*b_x/);
  });

  test('is not held against the calls of composite tools: the shared lists alone are, once', async () => {
    let checks = 0;
    const uses = { tools: ['a.t'], entry: () => Buffer.from('{"name":"w"}'), problems: () => [`${(checks += 1)}`] };
    const ownTools = () => [
      { name: 'w', target: { kind: 'workflow', workflow: 'w' }, bytes: Buffer.from('{"name":"w"}'), uses } as const,
    ];
    const { offer, names } = offerOf(shared, { overlay: () => own('x'), ownTools });
    assert.deepEqual(await names(user('x')), ['a_t', 'b_x', 'w']);
    assert.equal(checks, 0);
    assert.deepEqual(offer.catalog().mismatched(), [{ name: 'w', problems: ['1'] }]);
    assert.deepEqual(offer.catalog().mismatched(), [{ name: 'w', problems: ['1'] }]);
  });

  test('stays joined for as many callers as their lists leave room', async () => {
    const many = up('a', { resources: Array.from({ length: 60_000 }, (_, place) => `x:${place}`) });
    const overlays = new Map(['x', 'y', 'z'].map((subject) => [subject, own(subject)]));
    const { offer } = offerOf([many, { name: 'b', status: 'unauthenticated' }], {
      overlay: (caller) => (caller.kind === 'user' ? overlays.get(caller.subject) : undefined),
    });
    const [x, y, z] = ['x', 'y', 'z'].map((subject) => offer.offeredTo(user(subject)));
    const isStill = (subject: string, before: unknown): boolean => offer.offeredTo(user(subject)) === before;
    assert.deepEqual([isStill('y', y), isStill('z', z), isStill('x', x)], [true, true, false]);
  });

  test('counts under fail', async () => {
    const down: Overlay = [{ name: 'b', status: 'unavailable' }];
    const { names } = offerOf(shared, { overlay: () => Promise.resolve(down) }, { partialFailureMode: 'fail' });
    await assert.rejects(names(user('x')), /no answer from "b"/);
  });

  describe('is remembered', () => {
    const remembering = (bounds = { users: 2, count: 2, bytes: 1_000, ttlMs: 60_000 }) => {
      let time = 1_000_000;
      const asked: {
        readonly subject: string;
        readonly names: readonly string[] | undefined;
        readonly answer: PromiseWithResolvers<Overlay>;
      }[] = [];
      const { of: overlayOf, noteChange } = overlays(
        {
          list: (caller, names) => {
            if (caller.kind !== 'user') return undefined;
            const answer = Promise.withResolvers<Overlay>();
            asked.push({ subject: caller.subject, names: names && [...names], answer });
            return listing(answer.promise);
          },
          now: () => time,
        },
        bounds,
      );
      const settle = () => new Promise((resolve) => setImmediate(resolve));
      return { overlayOf, noteChange, asked, settle, advance: (ms: number) => (time += ms) };
    };

    test('and asked for once, however many wait', async () => {
      const { overlayOf, asked } = remembering();
      const waiting = [overlayOf(user('x')), overlayOf(user('x'))].map(async (each) => each);
      assert.equal(asked.length, 1);
      asked[0]?.answer.resolve(own('x'));
      const [first, second] = await Promise.all(waiting);
      assert.equal(first, second);
      assert.equal(overlayOf(user('x')), first, 'and at once from then on');
    });

    test('for 60 s; then the last good one is served while it is asked for again', async () => {
      const { overlayOf, asked, settle, advance } = remembering();
      void overlayOf(user('x'));
      asked[0]?.answer.resolve(own('x'));
      await settle();
      const before = overlayOf(user('x'));
      advance(59_999);
      assert.equal(overlayOf(user('x')), before);
      assert.equal(asked.length, 1);
      advance(1);
      assert.equal(overlayOf(user('x')), before);
      assert.equal(overlayOf(user('x')), before);
      assert.equal(asked.length, 2);
      asked[1]?.answer.resolve(own('newer'));
      await settle();
      assert.notEqual(overlayOf(user('x')), before);
    });

    test('until a list may have changed: the next request waits for a new one, and the caller is told once', async () => {
      const { overlayOf, noteChange, asked, settle } = remembering();
      assert.equal(noteChange(user('x'), 'told', 'b'), false, 'nothing was listed yet');
      void overlayOf(user('x'));
      asked[0]?.answer.resolve(own('x'));
      await settle();
      assert.equal(noteChange(user('x'), 'unknown', 'b'), false);
      assert.deepEqual([noteChange(user('x'), 'told', 'b'), noteChange(user('x'), 'told', 'b')], [true, false]);
      const waiting = overlayOf(user('x'));
      assert.ok(waiting instanceof Promise);
      asked[1]?.answer.resolve(own('newer'));
      assert.deepEqual(await waiting, own('newer'));
      assert.ok(!(overlayOf(user('x')) instanceof Promise));
      assert.equal(noteChange(user('x'), 'told', 'b'), true, 'once more');
    });

    test('the one backend that has told of a change is listed again, for who needs it and for lists', async () => {
      const both = (b: string, c: string): Overlay => [up('b', { tools: [b] }), up('c', { tools: [c] })];
      const { overlayOf, noteChange, asked, settle, advance } = remembering();
      void overlayOf(user('x'));
      asked[0]?.answer.resolve(both('b1', 'c1'));
      await settle();
      const before = overlayOf(user('x'));
      noteChange(user('x'), 'told', 'b');
      assert.equal(
        overlayOf(user('x'), () => new Set(['c'])),
        before,
        'a call of another one waits for nothing',
      );
      assert.equal(asked.length, 1);
      advance(59_000);
      const waiting = overlayOf(user('x'), () => new Set(['b', 'c']));
      assert.deepEqual(asked[1]?.names, ['b']);
      asked[1]?.answer.resolve([up('b', { tools: ['b2'] })]);
      assert.deepEqual(await waiting, both('b2', 'c1'));
      assert.deepEqual(overlayOf(user('x')), both('b2', 'c1'));
      advance(1_000);
      void overlayOf(user('x'));
      assert.equal(asked[2]?.names, undefined, 'the others are as old as they were');
    });

    test('a change of one backend while another one is listed again loses neither', async () => {
      const { overlayOf, noteChange, asked, settle } = remembering();
      void overlayOf(user('x'));
      asked[0]?.answer.resolve([up('b', { tools: ['b1'] }), up('c', { tools: ['c1'] })]);
      await settle();
      noteChange(user('x'), 'told', 'b');
      void overlayOf(user('x'));
      noteChange(user('x'), 'told', 'c');
      const waiting = overlayOf(user('x'));
      assert.deepEqual(asked[2]?.names, ['b', 'c']);
      const newer = [up('b', { tools: ['b2'] }), up('c', { tools: ['c2'] })];
      asked[2]?.answer.resolve(newer);
      asked[1]?.answer.resolve([up('b', { tools: ['b2'] })]);
      await settle();
      assert.deepEqual([await waiting, overlayOf(user('x'))], [newer, newer]);
    });

    test('of what was asked for before a change, nobody hears who asks after it', async () => {
      for (const isListed of [false, true]) {
        const { overlayOf, noteChange, asked, settle, advance } = remembering();
        if (isListed) {
          void overlayOf(user('x'));
          asked.pop()?.answer.resolve(own('before'));
          await settle();
          advance(120_000);
        }
        const early = overlayOf(user('x'));
        noteChange(user('x'), 'told', 'b');
        const late = overlayOf(user('x'));
        assert.equal(asked.length, 2);
        asked[1]?.answer.resolve(own('new'));
        await settle();
        asked[0]?.answer.resolve(own('old'));
        assert.deepEqual([await early, await late], [own('old'), own('new')]);
        assert.deepEqual(overlayOf(user('x')), own('new'));
      }
    });

    test('but not for longer than 120 s, whatever becomes of the question', async () => {
      const { overlayOf, asked, settle, advance } = remembering();
      void overlayOf(user('x'));
      asked[0]?.answer.resolve(own('x'));
      await settle();
      advance(60_000);
      assert.ok(!(overlayOf(user('x')) instanceof Promise));
      asked[1]?.answer.reject(new Error('away'));
      await settle();
      advance(60_000);
      const next = overlayOf(user('x'));
      asked[2]?.answer.reject(new Error('revoked'));
      await assert.rejects(async () => next, /revoked/);
    });

    test('not when it failed', async () => {
      const { overlayOf, asked } = remembering();
      const first = overlayOf(user('x'));
      asked[0]?.answer.reject(new Error('away'));
      await assert.rejects(async () => first, /away/);
      void overlayOf(user('x'));
      assert.equal(asked.length, 2);
    });

    /** Who is still known after these have asked one after the other; who asked last comes first. */
    const knownAfter = async (
      subjects: readonly string[],
      bounds?: Parameters<typeof remembering>[0],
    ): Promise<readonly string[]> => {
      const { overlayOf, asked, settle } = remembering(bounds);
      for (const subject of subjects) {
        void overlayOf(user(subject));
        asked.at(-1)?.answer.resolve(own(subject));
        await settle();
      }
      // To ask for who is not known may end another.
      return [...new Set(subjects.toReversed())].filter((subject) => !(overlayOf(user(subject)) instanceof Promise));
    };

    test('for the callers that asked last', async () => {
      assert.deepEqual(await knownAfter(['x', 'y', 'z']), ['z', 'y']);
      assert.deepEqual(await knownAfter(['x', 'y', 'x', 'z']), ['z', 'x']);
    });

    test('as far as the bytes of all allow', async () => {
      // {"name":"x"} has 12 bytes.
      assert.deepEqual(await knownAfter(['x', 'y', 'z'], { users: 10, count: 10, bytes: 30, ttlMs: 60_000 }), [
        'z',
        'y',
      ]);
    });

    test('what of it has not changed is there once the rest is listed again, whoever came meanwhile', async () => {
      const { overlayOf, noteChange, asked, settle } = remembering({ users: 9, count: 1, bytes: 1_000, ttlMs: 60_000 });
      void overlayOf(user('x'));
      asked[0]?.answer.resolve([up('b', { tools: ['old'] }), up('c', { tools: ['stays'] })]);
      await settle();
      noteChange(user('x'), 'told', 'b');
      const again = overlayOf(user('x'));
      assert.deepEqual(asked[1]?.names, ['b']);
      void overlayOf(user('y'));
      asked[2]?.answer.resolve(own('y'));
      await settle();
      asked[1]?.answer.resolve([up('b', { tools: ['new'] })]);
      const keys = (await again)?.map(({ name, lists }) => [name, lists?.tools.map(({ key }) => key)]);
      assert.deepEqual(keys, [
        ['b', ['new']],
        ['c', ['stays']],
      ]);
    });

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

    test('for the backends that were listed', async () => {
      let listed = {};
      let asked = 0;
      const list = () => listing(Promise.resolve(own(`${(asked += 1)}`)));
      const { of: overlayOf } = overlays({ list, listed: () => listed, now: () => 1_000_000 });
      await overlayOf(user('x'));
      await overlayOf(user('x'));
      assert.equal(asked, 1);
      listed = {};
      await overlayOf(user('x'));
      assert.equal(asked, 2);
    });

    test('for each issuer and subject by itself, and never for a caller that is no user', () => {
      const { overlayOf, asked } = remembering({ users: 10, count: 10, bytes: 1_000, ttlMs: 60_000 });
      void overlayOf(userOf('b","c', { issuer: 'a' }));
      void overlayOf(userOf('c', { issuer: 'a","b' }));
      assert.equal(asked.length, 2);
      assert.equal(overlayOf(ANYBODY), undefined);
      assert.equal(overlayOf({ kind: 'probe' }), undefined);
    });
  });
});
