import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../cluster/until.ts';
import { bytes, type Given, soon } from './given-store.ts';

export const messagesContract = ({ given, newKey }: Given): void => {
  test('messages reach every listener of the channel, in order, and no other', async () => {
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

  /** Listens on a channel and notes what it hears. */
  const listening = async (channel: string) => {
    const heard: string[] = [];
    const subscription = given().subscribe(channel, (message) => void heard.push(message.toString()));
    await subscription.isLive;
    const hears = (count: number): Promise<true> =>
      until(`${count} messages`, async () => (heard.length >= count ? true : undefined), soon);
    return { heard, hears, end: subscription.end };
  };

  test('an empty message arrives, and one that no listener waits for is lost', async () => {
    const [store, channel] = [given(), newKey()];
    await store.publish(channel, bytes('lost'));
    const one = await listening(channel);
    await store.publish(channel, bytes(''));
    await store.publish(channel, bytes('last'), 'withoutDeadline');
    await one.hears(2);
    assert.deepEqual(one.heard, ['', 'last']);
    one.end();
  });

  test('a message is as it was when it was sent', async () => {
    const [store, channel] = [given(), newKey()];
    const one = await listening(channel);
    const message = bytes('as it was');
    await store.publish(channel, message);
    message.fill('x');
    await one.hears(1);
    assert.deepEqual(one.heard, ['as it was']);
    one.end();
  });

  test('each of many listeners gets a message once', async () => {
    const [store, channel] = [given(), newKey()];
    const all = await Promise.all(Array.from({ length: 100 }, () => listening(channel)));
    await store.publish(channel, bytes('x'));
    for (const each of all) await each.hears(1);
    const last = await listening(channel);
    await store.publish(channel, bytes('last'));
    await last.hears(1);
    for (const each of all) await each.hears(2);
    assert.ok(all.every(({ heard }) => heard.join() === 'x,last'));
    for (const each of [...all, last]) each.end();
  });

  test('one function that listens twice is called twice, until it is ended twice', async () => {
    const [store, channel] = [given(), newKey()];
    const heard: string[] = [];
    const listener = (message: Buffer): void => void heard.push(message.toString());
    const [one, two] = [store.subscribe(channel, listener), store.subscribe(channel, listener)];
    await Promise.all([one.isLive, two.isLive]);
    await store.publish(channel, bytes('a'));
    await until('both', async () => (heard.length === 2 ? true : undefined), soon);
    one.end();
    one.end();
    await store.publish(channel, bytes('b'));
    await until('the other', async () => (heard.length === 3 ? true : undefined), soon);
    assert.deepEqual(heard, ['a', 'a', 'b']);
    two.end();
  });

  test('a subscription that was ended before ends no later one', async () => {
    const [store, channel] = [given(), newKey()];
    const first = await listening(channel);
    first.end();
    const second = await listening(channel);
    first.end();
    await store.publish(channel, bytes('x'));
    await second.hears(1);
    assert.deepEqual([first.heard, second.heard], [[], ['x']]);
    second.end();
  });

  test('a subscription that a listener ends gets nothing more, and one that it begins gets what comes next', async () => {
    const [store, channel] = [given(), newKey()];
    const late: string[] = [];
    const ends: (() => void)[] = [];
    const first = store.subscribe(channel, () => {
      ended.end();
      first.end();
      ends.push(store.subscribe(channel, (message) => void late.push(message.toString())).end);
    });
    await first.isLive;
    const ended = await listening(channel);
    const other = await listening(channel);
    await store.publish(channel, bytes('one'));
    await other.hears(1);
    await store.publish(channel, bytes('two'));
    await until('the second', async () => (late.length > 0 ? true : undefined), soon);
    assert.deepEqual([ended.heard, late], [[], ['two']]);
    other.end();
    for (const end of ends) end();
  });
};
