import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { overlays } from '../../../runtime/catalog/index.ts';
import { type OverlayStore, overlayStore } from '../../../runtime/catalog/overlay-store.ts';
import { VmcpError, type VmcpErrorMore } from '../../../runtime/errors.ts';
import { lists } from './sources.ts';
import { offerOf, up, user } from './live-catalog-under-test.ts';

const TOOLS = ['read', 'write'];

/** Shares and keeps what it is given. */
const keepingAll = (): OverlayStore['shared'] => {
  const { shared, keep } = overlayStore({ count: 100, bytes: 10_000 });
  return (own) => {
    const overlay = shared(own);
    keep(overlay);
    return overlay;
  };
};

describe('what users see of their backends', () => {
  test('is one value for all who see the same, down to the bytes of a page', async () => {
    let listings = 0;
    const { of: overlay } = overlays({
      now: () => 0,
      list: (caller) => {
        listings += 1;
        const tools = caller.kind === 'user' && caller.subject === 'z' ? ['read'] : TOOLS;
        const all = Promise.resolve([up('b', { tools })]);
        return { all, only: () => all };
      },
    });
    const { offer } = offerOf([{ name: 'b', status: 'unauthenticated' }], { overlay });
    const listOf = (subject: string): Promise<Buffer> => offer.list('tools', undefined, user(subject));
    const [x, y, z] = [await listOf('x'), await listOf('y'), await listOf('z')];
    assert.equal(listings, 3);
    assert.equal(x, y);
    assert.match(x.toString(), /b_read.*b_write/);
    assert.doesNotMatch(z.toString(), /b_write/);
  });

  test('is another value where a byte, a border between entries, the kind, the backend or its status differs', () => {
    const shared = keepingAll();
    const first = shared([up('b', { tools: TOOLS })]);
    assert.equal(shared([up('b', { tools: TOOLS })]), first);
    for (const other of [
      up('b', { tools: ['read', 'writE'] }),
      up('b', { tools: TOOLS.toReversed() }),
      up('b', { prompts: TOOLS }),
      up('c', { tools: TOOLS }),
      { ...up('b', { tools: TOOLS }), status: 'degraded' } as const,
    ])
      assert.notEqual(shared([other]), first);
    const [left, right] = ['{"name":"a"}', '{"name":"b"}'].map((text) => Buffer.from(text)) as [Buffer, Buffer];
    const entry = (bytes: Buffer) => ({ key: 'a', bytes, keySpan: { start: 8, end: 11 } });
    const split = (...all: readonly Buffer[]) => [{ ...up('b', {}), lists: { ...lists({}), tools: all.map(entry) } }];
    assert.notEqual(shared(split(left, right)), shared(split(Buffer.concat([left, right]))));
  });

  test('shares the lists of a backend where another one cannot be listed; what is told of that is one user’s', () => {
    const shared = keepingAll();
    const failing = (message: string) => ({
      name: 'c',
      status: 'unauthenticated' as const,
      message,
      error: new VmcpError('login_required', message),
    });
    const ofX = shared([up('b', { tools: TOOLS }), failing('x has to sign in')]);
    const ofY = shared([up('b', { tools: TOOLS }), failing('y has to sign in')]);
    assert.equal(ofX[0]?.lists, ofY[0]?.lists);
    assert.deepEqual([ofX[1]?.message, ofY[1]?.message], ['x has to sign in', 'y has to sign in']);
  });

  test('is one value where all are told the same of a backend that cannot be listed, without its causes', () => {
    const shared = keepingAll();
    const failing = (subject: string, more: VmcpErrorMore = {}) => [
      up('b', { tools: TOOLS }),
      {
        name: 'c',
        status: 'unauthenticated' as const,
        error: new VmcpError('login_required', 'sign in at "hub"', { cause: new Error(subject), detail: 'd', ...more }),
      },
    ];
    const ofX = shared(failing('x'));
    assert.equal(shared(failing('y')), ofX);
    const { error } = ofX[1] ?? {};
    assert.deepEqual([error?.message, error?.detail, error?.cause], ['sign in at "hub"', 'd', undefined]);
    assert.notEqual(shared(failing('y', { detail: 'other' })), ofX);
    assert.notEqual(shared(failing('y', { isOutage: true })), ofX);
    const meantFor = (subject: string) => shared(failing(subject, { clientText: 'your link' }));
    assert.notEqual(meantFor('x'), meantFor('x'));
  });

  test('that is of one user alone goes when another comes in its place', () => {
    const { shared, keep, get } = overlayStore({ count: 100, bytes: 10_000 });
    const error = new VmcpError('login_required', 'sign in', { clientText: 'your link' });
    const first = keep(shared([{ name: 'c', status: 'unauthenticated', error }]));
    assert.ok(get(first));
    const second = keep(shared([{ name: 'c', status: 'unauthenticated', error }]), first);
    assert.equal(get(first), undefined);
    const third = keep(shared([up('c', { tools: TOOLS })]), second);
    keep(shared([up('c', { tools: ['read'] })]), third);
    assert.ok(get(third), 'other users may see this');
  });

  test('is listed as often as it has to be, and shown to the end, while a backend fails for many', async () => {
    let time = 0;
    let isDown = false;
    const lists: string[] = [];
    const big = up('a', { tools: [`{"name":"big","description":"${'x'.repeat(600)}"}`] });
    const { of } = overlays(
      {
        now: () => time,
        list: (caller) => {
          lists.push(caller.kind === 'user' ? caller.subject : '');
          const error = new VmcpError('circuit_open', 'keeps failing');
          const b = isDown ? { name: 'b', status: 'unavailable' as const, error } : up('b', { tools: TOOLS });
          const all = Promise.resolve([big, b]);
          return { all, only: () => all };
        },
      },
      { users: 100, count: 10, bytes: 1_500, ttlMs: 60_000, failedTtlMs: 5_000 },
    );
    const users = Array.from({ length: 50 }, (_, index) => user(`u${index}`));
    const round = async () => {
      const before = lists.length;
      const seen = await Promise.all(users.map(async (each) => of(each)));
      await new Promise((resolve) => setImmediate(resolve));
      const withB = seen.filter((overlay) => overlay?.[1]?.lists !== undefined).length;
      return { listed: lists.length - before, withB };
    };
    assert.deepEqual(await round(), { listed: 50, withB: 50 });
    isDown = true;
    time += 60_000;
    for (let failing = 0; failing < 4; failing += 1) {
      assert.deepEqual(await round(), { listed: 50, withB: 50 });
      assert.deepEqual(await round(), { listed: 0, withB: 50 });
      time += 5_000;
    }
  });

  test('is the same value as before where it is given once more', () => {
    const shared = keepingAll();
    const failed = [up('b', { tools: TOOLS }), { name: 'c', status: 'unauthenticated' } as const];
    assert.equal(shared(failed), failed);
    assert.equal(shared(failed), failed);
  });

  test('counts once for all of them, and goes when others have taken its place', () => {
    const { shared, keep, get } = overlayStore({ count: 2, bytes: 1_000 });
    const keys = ['x', 'x', 'y'].map((tool) => keep(shared([up('b', { tools: [tool] })])));
    assert.equal(keys[0], keys[1]);
    assert.ok(keys.every((key) => get(key)));
    keep(shared([up('b', { tools: ['z'] })]));
    assert.equal(new Set(keys.filter((key) => get(key))).size, 1);
  });
});
