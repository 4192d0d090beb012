import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Caller } from '../../../runtime/call.ts';
import {
  makeOffer,
  type OfferDeps,
  type OfferedBackend,
  type OfferSettings,
  type Overlay,
  overlays,
} from '../../../runtime/catalog/index.ts';
import { VmcpError } from '../../../runtime/errors.ts';
import type { ListKind } from '../../../runtime/listed.ts';
import { taskIdOf } from '../../../runtime/task-id.ts';
import { lists, settings } from './sources.ts';

const ANYBODY = { kind: 'anonymous' } as const;
const user = (subject: string): Caller => ({ kind: 'user', issuer: 'https://idp.example', subject });

const up = (name: string, given: Parameters<typeof lists>[0]): OfferedBackend => ({
  name,
  status: 'ready',
  lists: lists(given),
});

/** An offer over backends that a test changes. */
const offerOf = (
  first: readonly OfferedBackend[],
  more: Partial<OfferDeps> = {},
  changes: Partial<OfferSettings> = {},
) => {
  let backends = first;
  let current: OfferSettings = { ...settings(), partialFailureMode: 'best_effort', waitForUnknownMs: 10, ...changes };
  const waits: number[] = [];
  const offer = makeOffer({
    settings: () => current,
    backends: () => backends,
    settled: async (timeoutMs) => void waits.push(timeoutMs),
    known: async (timeoutMs) => void waits.push(timeoutMs),
    ...more,
  });
  const heard: (readonly ListKind[])[] = [];
  offer.onListsChanged((kinds) => heard.push(kinds));
  const change = (newer: readonly OfferedBackend[], newerSettings: Partial<OfferSettings> = {}): void => {
    backends = newer;
    current = { ...current, ...newerSettings };
    offer.rebuild();
  };
  const names = async (caller: Caller = ANYBODY, kind: 'tools' | 'prompts' = 'tools'): Promise<readonly string[]> => {
    const result = JSON.parse((await offer.list(kind, undefined, caller)).toString()) as Record<
      string,
      { readonly name: string }[]
    >;
    return (result[kind] ?? []).map(({ name }) => name);
  };
  const find = async (name: string, caller: Caller = ANYBODY): Promise<string> => {
    const { backend } = await offer.lookUp({ names: 'tool', name, caller });
    return backend;
  };
  return { offer, change, names, find, heard, waits };
};

describe('that lists have changed', () => {
  const a = up('a', { tools: ['t'], prompts: ['p'], resources: ['x:1'], resourceTemplates: ['x:{y}'] });

  for (const [fact, newer, expected] of [
    [
      'is not told when nothing has',
      [up('a', { tools: ['t'], prompts: ['p'], resources: ['x:1'], resourceTemplates: ['x:{y}'] })],
      [],
    ],
    [
      'is told of the list that has',
      [up('a', { tools: ['t', 'u'], prompts: ['p'], resources: ['x:1'], resourceTemplates: ['x:{y}'] })],
      [['tools']],
    ],
    [
      'is told when only a description has',
      [
        up('a', {
          tools: ['{"name":"t","description":"d"}'],
          prompts: ['p'],
          resources: ['x:1'],
          resourceTemplates: ['x:{y}'],
        }),
      ],
      [['tools']],
    ],
    [
      'is told of all when a backend is down',
      [{ ...a, status: 'unavailable' }],
      [['tools', 'prompts', 'resources', 'resourceTemplates']],
    ],
    ['is not told when a backend is only degraded', [{ ...a, status: 'degraded' }], []],
    ['is told of what a newcomer adds', [a, up('b', { prompts: ['p'] })], [['prompts']]],
    ['is not told of a newcomer whose entries lose', [a, up('b', { resources: ['x:1'] })], []],
  ] as const) {
    test(fact, () => {
      const { change, heard } = offerOf([a]);
      change(newer);
      assert.deepEqual(heard, expected);
    });
  }

  test('is told after a change of settings, and no more once nobody wants to hear', () => {
    const { offer, change, heard } = offerOf([a]);
    change([a], { excludeAllTools: true });
    assert.deepEqual(heard, [['tools']]);
    const more: (readonly ListKind[])[] = [];
    const stop = offer.onListsChanged((kinds) => more.push(kinds));
    stop();
    change([a], { excludeAllTools: false });
    assert.deepEqual([heard.length, more.length], [2, 0]);
  });

  test('pages that read the same are the same bytes', async () => {
    const { offer, change } = offerOf([a]);
    const before = await offer.list('prompts', undefined, ANYBODY);
    change([up('a', { tools: ['t', 'u'], prompts: ['p'] })]);
    assert.equal(await offer.list('prompts', undefined, ANYBODY), before);
  });
});

describe('a list', () => {
  test('waits for backends at start, and later for nobody', async () => {
    const { change, names, waits } = offerOf([up('a', { tools: ['t'] })]);
    await names();
    change([up('a', { tools: ['t'] }), { name: 'slow', status: 'unknown' }]);
    assert.deepEqual(await names(), ['a_t']);
    assert.deepEqual(waits, [10]);
  });

  test('under fail waits for a newcomer, without which it would be refused', async () => {
    const { change, names, waits } = offerOf([up('a', { tools: ['t'] })], {}, { partialFailureMode: 'fail' });
    await names();
    change([up('a', { tools: ['t'] }), { name: 'slow', status: 'unknown' }]);
    await assert.rejects(names(), /no answer from "slow"/);
    assert.deepEqual(waits, [10, 10]);
  });
});

describe('a name that nobody has', () => {
  const gone: OfferedBackend = { name: 'gone', status: 'unavailable', isWithheld: true };
  const refusal = (code: string) => (error: unknown) => error instanceof VmcpError && error.code === code;

  test('is unknown; one of a withheld backend is not served, where the name tells', async () => {
    const { offer, find } = offerOf([up('a', { tools: ['t'] }), gone]);
    await assert.rejects(find('x'), refusal('unknown_name'));
    await assert.rejects(find('gone_x'), refusal('backend_unavailable'));
    const lookUp = async (names: 'prompt' | 'resource', name: string) => offer.lookUp({ names, name, caller: ANYBODY });
    await assert.rejects(lookUp('prompt', 'gone_x'), refusal('backend_unavailable'));
    await assert.rejects(lookUp('resource', 'gone_x'), refusal('unknown_name'));
  });

  test('and one that is hidden are refused alike', async () => {
    const { find } = offerOf([up('a', { tools: ['t'] })], {}, { excludeAllTools: true });
    const message = async (name: string) => find(name).catch((error: unknown) => String(error));
    assert.equal(await message('a_t'), await message('a_x'));
  });
});

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
    change([up('a', { tools: ['u'] })]);
    assert.match((await list()).toString(), /a_u.*b_x/);
  });

  test('counts under fail', async () => {
    const down: Overlay = [{ name: 'b', status: 'unavailable' }];
    const { names } = offerOf(shared, { overlay: () => Promise.resolve(down) }, { partialFailureMode: 'fail' });
    await assert.rejects(names(user('x')), /no answer from "b"/);
  });

  describe('is remembered', () => {
    const remembering = (bounds = { count: 2, bytes: 1_000, ttlMs: 60_000 }) => {
      let time = 1_000_000;
      const asked: { readonly subject: string; readonly answer: PromiseWithResolvers<Overlay> }[] = [];
      const overlayOf = overlays(
        {
          list: (caller) => {
            if (caller.kind !== 'user') return undefined;
            const answer = Promise.withResolvers<Overlay>();
            asked.push({ subject: caller.subject, answer });
            return answer.promise;
          },
          now: () => time,
        },
        bounds,
      );
      const settle = () => new Promise((resolve) => setImmediate(resolve));
      return { overlayOf, asked, settle, advance: (ms: number) => (time += ms) };
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

    test('for the callers that asked last', async () => {
      const { overlayOf, asked, settle } = remembering();
      for (const subject of ['x', 'y', 'z']) {
        void overlayOf(user(subject));
        asked.at(-1)?.answer.resolve(own(subject));
        await settle();
      }
      assert.ok(!(overlayOf(user('y')) instanceof Promise));
      assert.ok(!(overlayOf(user('z')) instanceof Promise));
      assert.ok(overlayOf(user('x')) instanceof Promise);
    });

    test('as far as the bytes of all allow', async () => {
      const { overlayOf, asked, settle } = remembering({ count: 10, bytes: 30, ttlMs: 60_000 });
      for (const subject of ['x', 'y', 'z']) {
        void overlayOf(user(subject));
        // {"name":"x"} has 12 bytes.
        asked.at(-1)?.answer.resolve(own(subject));
        await settle();
      }
      assert.ok(!(overlayOf(user('y')) instanceof Promise));
      assert.ok(!(overlayOf(user('z')) instanceof Promise));
      assert.ok(overlayOf(user('x')) instanceof Promise);
    });

    test('for each issuer and subject by itself, and never for who is nobody', () => {
      const { overlayOf, asked } = remembering({ count: 10, bytes: 1_000, ttlMs: 60_000 });
      void overlayOf({ kind: 'user', issuer: 'a', subject: 'b","c' });
      void overlayOf({ kind: 'user', issuer: 'a","b', subject: 'c' });
      assert.equal(asked.length, 2);
      assert.equal(overlayOf(ANYBODY), undefined);
      assert.equal(overlayOf({ kind: 'probe' }), undefined);
    });
  });
});

describe('what a class of callers may see', () => {
  let questions = 0;
  const visible = (caller: Caller) =>
    caller.kind === 'user'
      ? {
          key: caller.subject,
          isVisible: ({ name, backend }: { name: string; backend: string }) => {
            questions += 1;
            return backend === 'a' && name.endsWith(caller.subject);
          },
        }
      : undefined;

  test('is listed for it, and made once for each state of the lists', async () => {
    const { offer, names, change } = offerOf(
      [up('a', { tools: ['tx', 'ty'], prompts: ['px'] }), up('b', { tools: ['tx'] })],
      {
        visible,
      },
    );
    assert.deepEqual(await names(user('x')), ['a_tx']);
    assert.deepEqual(await names(user('x'), 'prompts'), ['a_px']);
    assert.deepEqual(await names(user('y')), ['a_ty']);
    assert.deepEqual(await names(), ['a_tx', 'a_ty', 'b_tx']);
    const before = questions;
    const list = () => offer.list('tools', undefined, user('x'));
    assert.equal(await list(), await list());
    assert.equal(questions, before);
    change([up('a', { tools: ['ux'] })]);
    assert.deepEqual(await names(user('x')), ['a_ux']);
  });
});

describe('the id of a task', () => {
  const up1 = up('a', {});
  const lookUp = ({ offer }: ReturnType<typeof offerOf>, backend: string) =>
    offer.lookUp({ names: 'task', name: taskIdOf({ backend, ownId: '"1"' }) ?? '', caller: ANYBODY });

  test('leads to the backend that it names, under its own id', async () => {
    const target = await lookUp(offerOf([up1, up('b', {})]), 'b');
    assert.deepEqual([target.backend, JSON.parse(target.ownName.toString())], ['b', '"1"']);
  });

  test('of a backend that has not been heard of yet waits for it', async () => {
    const scene = offerOf([{ name: 'a', status: 'unknown' }]);
    await lookUp(scene, 'a');
    assert.deepEqual(scene.waits, [10]);
  });

  for (const [what, name, code] of [
    ['that is not served', 'c', 'unknown_name'],
    ['that is withheld', 'held', 'backend_unavailable'],
  ] as const)
    test(`of a backend ${what} is refused`, async () => {
      const scene = offerOf([up1, { name: 'held', status: 'unavailable', isWithheld: true }]);
      await assert.rejects(
        async () => lookUp(scene, name),
        (error) => error instanceof VmcpError && error.code === code,
      );
    });
});
