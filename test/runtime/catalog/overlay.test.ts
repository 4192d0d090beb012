import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Overlay } from '../../../runtime/catalog/live-catalog.ts';
import { overlays } from '../../../runtime/catalog/index.ts';
import { ANYBODY, offerOf, up, user } from './live-catalog-under-test.ts';
import { listing, own, remembering } from './overlays-under-test.ts';
import { userOf } from '../../fixtures/callers.ts';

describe('what a caller’s own credential adds', () => {
  const shared = [up('a', { tools: ['t'] }), { name: 'b', status: 'unauthenticated' } as const];

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
