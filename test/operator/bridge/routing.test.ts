import assert from 'node:assert/strict';
import { setMaxListeners } from 'node:events';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { BOUNDS } from '../../../operator/bridge/index.ts';
import { requestOf } from '../../../operator/bridge/messages.ts';
import { ServerProcess } from '../../../operator/bridge/server-process.ts';
import { until } from '../../cluster/until.ts';
import type { FrozenClock } from '../../fixtures/frozen-clock.ts';
import { openSession, type RawSession } from '../../fixtures/raw-client.ts';
import type { BridgeUnderTest, Said, ScriptedServer } from './bridge-under-test.ts';
import { listen, type Listening } from './listening.ts';
import { answer, type Asked, asked, called, logMessage, startScriptedBridge } from './scripted-bridge.ts';

let clock: FrozenClock;
let bridge: BridgeUnderTest;
let server: ScriptedServer;
let caller: RawSession;
let other: RawSession;
let stream: Listening;
beforeEach(async () => {
  ({ clock, bridge, server } = await startScriptedBridge());
  [caller, other] = await Promise.all([openSession(bridge.url), openSession(bridge.url)]);
  stream = await listen(bridge.url, other.id);
});
afterEach(async () => {
  stream.end();
  await bridge.close();
});

const ask = (session: RawSession, method: string, params: object): Promise<Asked> =>
  asked(server, session, method, params);
const call = (session: RawSession, name: string): Promise<Asked> => called(server, session, name);
const cancel = (session: RawSession, requestId: number): Promise<unknown> =>
  session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
const refusal = (id: number): object => ({ jsonrpc: '2.0', id, error: { code: -32_002, message: 'no such resource' } });
const log = (data: string): object => logMessage('info', data);
const updated = (uri: string): object => ({
  jsonrpc: '2.0',
  method: 'notifications/resources/updated',
  params: { uri },
});

const subscribe = async (uri: string, answering: (id: number) => object): Promise<void> => {
  const { reply, id } = await ask(other, 'resources/subscribe', { uri });
  server.says(answering(id));
  await reply;
};

let fences = 0;
/** What the other client hears on its stream of these messages. */
const overheard = async (...messages: readonly object[]): Promise<readonly unknown[]> => {
  fences += 1;
  const past = stream.heard().length;
  const fence = { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { fence: fences } };
  server.says(...messages, fence);
  return (await stream.before(fence)).slice(past);
};

describe('a log message goes to no other client', () => {
  test('while the server may still be about a call that was given up', async () => {
    const { reply } = await call(caller, 'given-up');
    await cancel(caller, 1);
    await reply;
    assert.deepEqual(await overheard(log('secret')), []);
    clock.advance(BOUNDS.abandonedMs);
    assert.deepEqual(await overheard(log('for all')), [log('for all')]);
  });

  test('until the server has answered what was given up', async () => {
    const { reply, id } = await call(caller, 'given-up');
    await cancel(caller, 1);
    await reply;
    assert.deepEqual(await overheard(log('secret'), answer(id), log('for all')), [log('for all')]);
  });

  test('while the server may still be about a call of a session that has ended', async () => {
    const { reply } = await call(caller, 'ended');
    await caller.end();
    await reply;
    assert.deepEqual(await overheard(log('secret')), []);
  });

  test('while the server may still be about a call whose connection was lost', async () => {
    const { reply } = await call(caller, 'lost');
    bridge.multiplexer.lost();
    await reply;
    bridge.multiplexer.resumed(server.link);
    assert.deepEqual(await overheard(log('secret')), []);
  });

  test('during a request of any method, whatever the other has under way', async () => {
    const completing = await ask(caller, 'completion/complete', { argument: { name: 'a', value: 'secret' } });
    assert.deepEqual(await overheard(log('secret')), []);
    const own = await call(other, 'own');
    assert.deepEqual(await overheard(log('secret')), []);
    server.says(answer(completing.id), log('own'), answer(own.id));
    await completing.reply;
    assert.deepEqual((await own.reply).messages.slice(0, -1), [log('own')]);
  });

  test('when that gives up so many calls that there is no place for more', async () => {
    const nobody = { onRequest: () => {}, onNotification: () => {} };
    const process = new ServerProcess<string>({ clock, ...nobody });
    process.attach({ send: () => true });
    const asking = (owner: string, signal: AbortSignal): Promise<unknown> =>
      process.ask({ envelope: requestOf('tools/call'), owner }, signal).catch(() => {});
    const giveUp = async (owner: string, times: number): Promise<void> => {
      const controller = new AbortController();
      setMaxListeners(0, controller.signal);
      const all = Array.from({ length: times }, () => asking(owner, controller.signal));
      await until('the calls', () => Promise.resolve(!process.isIdle || undefined));
      controller.abort();
      await Promise.all(all);
    };
    await giveUp('caller', 1);
    await giveUp('other', BOUNDS.abandoned);
    void asking('other', new AbortController().signal);
    await setImmediate();
    assert.deepEqual([process.soleAsker(), process.soleCaller(), process.isIdle], [undefined, undefined, false]);
    clock.advance(BOUNDS.abandonedMs);
    assert.deepEqual([process.soleAsker(), process.soleCaller()], ['other', 'other']);
  });
});

describe('a subscription', () => {
  const update = updated('file:///home/a.txt');

  test('that the server refuses is none', async () => {
    await subscribe('file:///home/a.txt', refusal);
    assert.deepEqual(await overheard(update), []);
    // One that there was before stays.
    await subscribe('file:///home/a.txt', answer);
    await subscribe('file:///home/a.txt', refusal);
    assert.deepEqual(await overheard(update), [update]);
  });

  test('that was cancelled is none, and the server gets its end', async () => {
    const { reply } = await ask(other, 'resources/subscribe', { uri: 'a:b' });
    await cancel(other, 1);
    await reply;
    const isIts = ({ method, params }: Said): boolean =>
      method === 'resources/unsubscribe' && params?.['uri'] === 'a:b';
    await until('the end', () => Promise.resolve(server.heard.find(isIts)));
    assert.deepEqual(await overheard(updated('a:b')), []);
  });

  for (const [whole, parts, others] of [
    ['', [], ['file:///home/a.txt']],
    ['file:', [], ['file:///home/a.txt']],
    ['file:///', ['file:///'], ['file:///home/a.txt']],
    ['file:///home', ['file:///home', 'file:///home/a.txt', 'file:///home#a'], ['file:///homes/a.txt']],
    ['file:///home/', ['file:///home/a.txt'], ['file:///home', 'file:///homes/']],
    ['db://it', ['db://it/1', 'db://it?row=1'], ['db://item']],
  ] as const)
    test(`to "${whole}" is one to that and its parts only`, async () => {
      await subscribe(whole, answer);
      assert.deepEqual(await overheard(...[...others, ...parts].map(updated)), parts.map(updated));
    });

  test('is refused when its URI or all of a session together are too long, and has room again after an end', async () => {
    const codes: unknown[] = [];
    const refused = async (uri: string): Promise<void> => {
      const { json } = await other.request('resources/subscribe', { uri });
      codes.push((json as { error?: { message: string } }).error?.message);
    };
    const long = (name: string): string => `${name}:`.padEnd(BOUNDS.subscriptionUriBytes, 'x');
    await refused(`${long('a')}x`);
    const most = BOUNDS.subscriptionBytesPerSession / BOUNDS.subscriptionUriBytes;
    for (let at = 0; at < most; at += 1) await subscribe(long(`${at}`), answer);
    await refused('a');
    const { reply, id } = await ask(other, 'resources/unsubscribe', { uri: long('0') });
    server.says(answer(id));
    await reply;
    await subscribe('a', answer);
    assert.deepEqual(codes, ['params.uri is longer than 2048 bytes', 'too many subscriptions; end one']);
  });
});
