import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { overlays } from '../../../runtime/catalog/index.ts';
import { type OverlayStore, overlayStore } from '../../../runtime/catalog/overlay-store.ts';
import { VmcpError } from '../../../runtime/errors.ts';
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
