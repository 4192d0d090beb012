import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prefixed } from '../../../runtime/store/prefixed.ts';
import { STORE_LIMITS } from '../../../runtime/store/store.ts';
import type { Store } from '../../../runtime/store/index.ts';
import { until } from '../../cluster/until.ts';
import { contract } from './contract.ts';
import { bytes, CALLS, LONG, soon, text } from './given-store.ts';
import { hasCode } from './has-code.ts';
import { inEveryStore } from './stores.ts';

const PREFIX = 'limits:';

inEveryStore('a view of a store', (store) =>
  contract(() => prefixed(store(), PREFIX), STORE_LIMITS.keyBytes - PREFIX.length),
);

/** Listens on a channel and notes what it hears. */
const listening = async (store: Store, channel: string): Promise<readonly string[]> => {
  const heard: string[] = [];
  await store.subscribe(channel, (message) => void heard.push(message.toString())).isLive;
  return heard;
};

inEveryStore(
  'of several views of a store',
  (given) => {
    const map = new Map([['a', bytes('1')]]);

    test('none meets another, nor the store itself', async () => {
      const all = [given(), prefixed(given(), 'one:'), prefixed(given(), 'two:')];
      const room = { name: '{room}', limit: 1 };
      const heard = await Promise.all(all.map((each) => listening(each, 'news')));
      for (const [at, each] of all.entries()) {
        assert.equal(await each.setIfAbsent('key', bytes(`${at}`), LONG), true);
        assert.equal(await each.createMap('{room}map', map, LONG, room), true);
        assert.equal(await each.touch('{room}map', LONG, room), true);
        await each.publish('news', bytes(`${at}`));
      }
      for (const [at, each] of all.entries()) {
        assert.equal(text(await each.get('key')), `${at}`);
        await assert.rejects(each.createMap('{room}other', map, LONG, room), hasCode('overloaded'));
        await until('news', async () => (heard[at]?.length === 1 ? true : undefined), soon);
      }
      assert.deepEqual(heard, [['0'], ['1'], ['2']]);
    });

    test('a view of one has both prefixes', async () => {
      const inner = prefixed(prefixed(given(), 'outer:'), 'inner:');
      await inner.set('key', bytes('x'), LONG);
      assert.equal(text(await given().get('outer:inner:key')), 'x');
    });

    test('one that is closed gets nothing and does nothing any more, and leaves the store open to the others', async () => {
      const [closed, other] = [prefixed(given(), 'closed:'), prefixed(given(), 'closed:')];
      const [deaf, hears] = await Promise.all([listening(closed, 'news'), listening(other, 'news')]);
      await closed.close();
      await other.publish('news', bytes('x'));
      await until('news', async () => (hears.length === 1 ? true : undefined), soon);
      assert.deepEqual(deaf, []);
      for (const [name, call] of Object.entries(CALLS))
        await assert.rejects(call(closed, 'key'), hasCode('store_unavailable'), name);
      await other.set('key', bytes('x'), LONG);
      assert.equal(text(await given().get('closed:key')), 'x');
    });

    test('each tells how the store is', async () => {
      const view = prefixed(given(), PREFIX);
      await view.firstAnswer;
      assert.equal(view.state(), 'up');
      view.onState(() => {})();
    });
  },
  (given, redis) => {
    test('the prefix comes after that of the store', async () => {
      await redis().command('FLUSHALL');
      const view = prefixed(given(), PREFIX);
      await view.set('key', bytes('x'), LONG);
      await view.createMap('map', new Map([['a', bytes('1')]]), LONG, { name: 'maps', limit: 1 });
      await listening(view, 'only-here');
      const keys = (await redis().command('KEYS', '*')).split('\n').sort();
      assert.deepEqual(keys, ['test:limits:key', 'test:limits:map', 'test:limits:maps:fresh']);
      assert.equal(await redis().command('PUBSUB', 'CHANNELS', '*only-here'), 'test:limits:only-here');
    });
  },
);
