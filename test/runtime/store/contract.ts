import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STORE_LIMITS, type Store } from '../../../runtime/store/store.ts';
import { until } from '../../cluster/until.ts';
import { hasCode } from './has-code.ts';

const text = (value: Buffer | undefined): string | undefined => value?.toString();
const bytes = (value: string): Buffer => Buffer.from(value);
const LONG = 60_000;

/** What every store does, whatever it is made of. */
export const contract = (given: () => Store): void => {
  let count = 0;
  const newKey = (): string => `key:${(count += 1)}`;

  test('a value is read as it was written, until it is deleted', async () => {
    const [store, key] = [given(), newKey()];
    const value = Buffer.from([0, 255, 10, 13, 128]);
    await store.set(key, value, LONG);
    assert.deepEqual(await store.get(key), value);
    await store.set(key, bytes('newer'), LONG);
    assert.equal(text(await store.get(key)), 'newer');
    assert.equal(await store.delete(key), true);
    assert.equal(await store.delete(key), false);
    assert.equal(await store.get(key), undefined);
  });

  test('of two that set a value if absent, the first wins', async () => {
    const [store, key] = [given(), newKey()];
    const won = await Promise.all(['a', 'b'].map((each) => store.setIfAbsent(key, bytes(each), LONG)));
    assert.deepEqual(won, [true, false]);
    assert.equal(text(await store.get(key)), 'a');
  });

  test('of many that take a value, one gets it', async () => {
    const [store, key] = [given(), newKey()];
    await store.set(key, bytes('once'), LONG);
    const taken = await Promise.all(Array.from({ length: 10 }, () => store.take(key)));
    assert.deepEqual(taken.filter(Boolean).map(text), ['once']);
  });

  test('a value ends with its life, unless it is touched', async () => {
    const [store, short, touched] = [given(), newKey(), newKey()];
    await store.set(short, bytes('x'), 30);
    await store.set(touched, bytes('x'), 30);
    assert.equal(await store.touch(touched, LONG), true);
    await until('the end', async () => ((await store.get(short)) === undefined ? true : undefined), { intervalMs: 5 });
    assert.equal(await store.touch(short, LONG), false);
    assert.equal(await store.setIfAbsent(short, bytes('y'), LONG), true);
    assert.equal(text(await store.get(touched)), 'x');
  });

  test('a map is made once', async () => {
    const [store, key] = [given(), newKey()];
    const made = await Promise.all(
      ['a', 'b'].map((each) => store.createMap(key, new Map([['who', bytes(each)]]), LONG)),
    );
    assert.deepEqual(made, [true, false]);
    const fields = await store.readMap(key);
    assert.deepEqual(
      [...(fields ?? [])].map(([name, value]) => [name, text(value)]),
      [['who', 'a']],
    );
  });

  test('a room holds so many maps; one more displaces the oldest that was never touched, or is refused', async () => {
    const [store, tag] = [given(), newKey()];
    const room = { name: `room:{${tag}}`, limit: 2 };
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((each) => `{${tag}}:${each}`) as [string, string, string, string];
    const make = (key: string): Promise<boolean> => store.createMap(key, new Map([['a', bytes('1')]]), LONG, room);
    assert.deepEqual([await make(a), await make(a), await make(b)], [true, false, true]);
    assert.equal(await store.touch(a, LONG, room), true);
    assert.equal(await make(c), true);
    assert.deepEqual([await store.touch(a, LONG, room), await store.readMap(b, LONG, room)], [true, undefined]);
    assert.equal((await store.readMap(c, LONG, room))?.size, 1);
    await assert.rejects(make(d), hasCode('overloaded'));
    assert.equal(await store.readMap(d), undefined);
    assert.equal(await store.delete(a, room), true);
    assert.equal(await make(d), true);
  });

  test('a map that has ended gives back its place', async () => {
    const [store, tag] = [given(), newKey()];
    const room = { name: `room:{${tag}}`, limit: 1 };
    const make = (key: string, ttlMs: number): Promise<boolean> =>
      store.createMap(`{${tag}}:${key}`, new Map([['a', bytes('1')]]), ttlMs, room);
    await make('a', 30);
    await store.touch(`{${tag}}:a`, 30, room);
    await until('its place', () => make('b', LONG).then(Boolean, () => undefined), { intervalMs: 5 });
    assert.equal(await store.touch(`{${tag}}:b`, LONG, room), true);
    await assert.rejects(make('c', LONG), hasCode('overloaded'));
  });

  test('of two that set a field if absent, the first wins, and both learn who', async () => {
    const [store, key] = [given(), newKey()];
    await store.createMap(key, new Map([['a', bytes('1')]]), LONG);
    const kept = await Promise.all(['x', 'y'].map((each) => store.setFieldIfAbsent(key, 'b', bytes(each))));
    assert.deepEqual(kept.map(text), ['x', 'x']);
  });

  test('a map that is gone is not made anew by its fields', async () => {
    const [store, key] = [given(), newKey()];
    assert.equal(await store.readMap(key), undefined);
    assert.equal(await store.setField(key, 'a', bytes('1')), false);
    assert.equal(await store.setFieldIfAbsent(key, 'a', bytes('1')), undefined);
    assert.equal(await store.deleteField(key, 'a'), false);
    assert.equal(await store.readMap(key, LONG), undefined);
  });

  test('a field is deleted only while it holds what was meant', async () => {
    const [store, key] = [given(), newKey()];
    await store.createMap(key, new Map([['keep', bytes('')]]), LONG);
    await store.setField(key, 'a', bytes('new'));
    assert.equal(await store.deleteField(key, 'a', bytes('old')), false);
    assert.equal(await store.deleteField(key, 'a', bytes('new')), true);
    assert.equal(await store.deleteField(key, 'a'), false);
    assert.deepEqual([...((await store.readMap(key))?.keys() ?? [])], ['keep']);
  });

  test('reading a map with a life begins it anew, reading it without does not', async () => {
    const [store, read, renewed] = [given(), newKey(), newKey()];
    for (const key of [read, renewed]) await store.createMap(key, new Map([['a', bytes('1')]]), 50);
    await store.readMap(renewed, LONG);
    await store.readMap(read);
    await until('the end', async () => ((await store.readMap(read)) === undefined ? true : undefined), {
      intervalMs: 5,
    });
    assert.equal((await store.readMap(renewed))?.size, 1);
  });

  test('messages reach whoever listens, in order, and nobody else', async () => {
    const [store, channel] = [given(), newKey()];
    const heard: string[] = [];
    const other: string[] = [];
    const one = store.subscribe(channel, (message) => void heard.push(`1:${message.toString()}`));
    const two = store.subscribe(channel, (message) => void heard.push(`2:${message.toString()}`));
    const stranger = store.subscribe(newKey(), (message) => void other.push(message.toString()));
    await Promise.all([one.isLive, two.isLive, stranger.isLive]);
    const sent = Array.from({ length: 50 }, (_, at) => `${at}`);
    await Promise.all(sent.map((each) => store.publish(channel, bytes(each))));
    await until('all', async () => (heard.length === 100 ? true : undefined), { intervalMs: 5 });
    assert.deepEqual(
      heard.filter((each) => each.startsWith('1:')),
      sent.map((each) => `1:${each}`),
    );
    one.end();
    await store.publish(channel, bytes('last'));
    await until('the last', async () => (heard.includes('2:last') ? true : undefined), { intervalMs: 5 });
    assert.equal(heard.includes('1:last'), false);
    assert.deepEqual(other, []);
    two.end();
    stranger.end();
  });

  test('a message of 8 MiB passes whole', async () => {
    const [store, channel] = [given(), newKey()];
    const message = Buffer.alloc(8 * 1024 * 1024, 'x');
    const { promise, resolve } = Promise.withResolvers<Buffer>();
    const subscription = store.subscribe(channel, resolve);
    await subscription.isLive;
    await store.publish(channel, message);
    assert.ok((await promise).equals(message));
    subscription.end();
  });

  test('what is out of bounds is refused before it is sent', async () => {
    const [store, key] = [given(), newKey()];
    const tooLarge = Buffer.alloc(STORE_LIMITS.valueBytes + 1);
    await assert.rejects(store.set(key, tooLarge, LONG), hasCode('internal'));
    await assert.rejects(store.set('k'.repeat(600), bytes('x'), LONG), hasCode('internal'));
    await assert.rejects(store.set(key, bytes('x'), 0), hasCode('internal'));
    await assert.rejects(store.publish(key, Buffer.alloc(STORE_LIMITS.messageBytes + 1)), hasCode('internal'));
    assert.equal(await store.get(key), undefined);
  });

  test('a map takes so many fields and no more', async () => {
    const [store, key] = [given(), newKey()];
    const fields = Array.from({ length: STORE_LIMITS.fields }, (_, at) => [`f${at}`, bytes('1')] as const);
    assert.equal(await store.createMap(key, new Map(fields), LONG), true);
    await assert.rejects(store.setField(key, 'more', bytes('1')), hasCode('overloaded'));
    await assert.rejects(store.setFieldIfAbsent(key, 'more', bytes('1')), hasCode('overloaded'));
    assert.equal(await store.setField(key, 'f0', bytes('2')), true);
    assert.equal(await store.deleteField(key, 'f1'), true);
    assert.equal(await store.setField(key, 'more', bytes('1')), true);
  });
};
