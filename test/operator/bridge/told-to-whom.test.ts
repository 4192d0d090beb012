import assert from 'node:assert/strict';
import { setMaxListeners } from 'node:events';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { BOUNDS } from '../../../operator/bridge/index.ts';
import { requestOf } from '../../../operator/bridge/messages.ts';
import { ServerProcess } from '../../../operator/bridge/server-process.ts';
import { until } from '../../cluster/until.ts';
import { frozenClock, type FrozenClock } from '../../fixtures/frozen-clock.ts';
import { openSession, type RawAnswer, type RawSession } from '../../fixtures/raw-client.ts';
import { attachScript, type BridgeUnderTest, type ScriptedServer, startBridge } from './bridge-under-test.ts';
import { listen, type Listening } from './listening.ts';

let clock: FrozenClock;
let bridge: BridgeUnderTest;
let server: ScriptedServer;
let caller: RawSession;
let other: RawSession;
let stream: Listening;
beforeEach(async () => {
  clock = frozenClock();
  bridge = await startBridge(clock);
  server = attachScript(bridge);
  await until('the handshake', () => Promise.resolve(bridge.multiplexer.isReady || undefined));
  [caller, other] = await Promise.all([openSession(bridge.url), openSession(bridge.url)]);
  stream = await listen(bridge.url, other.id);
});
afterEach(async () => {
  stream.end();
  await bridge.close();
});

interface Asked {
  readonly reply: Promise<RawAnswer>;
  readonly id: number;
}

const asked = async (session: RawSession, method: string, params: object): Promise<Asked> => {
  const reply = session.request(method, params);
  const wanted = JSON.stringify(params);
  const { id = -1 } = await server.hears((said) => said.method === method && JSON.stringify(said.params) === wanted);
  return { reply, id };
};

const called = (session: RawSession, name: string): Promise<Asked> => asked(session, 'tools/call', { name });
const cancel = (session: RawSession, requestId: number): Promise<unknown> =>
  session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
const answer = (id: number): object => ({ jsonrpc: '2.0', id, result: {} });
const log = (data: string): object => ({
  jsonrpc: '2.0',
  method: 'notifications/message',
  params: { level: 'info', data },
});
let fences = 0;
/** What the other client hears on its stream of these messages. */
const overheard = async (...messages: readonly object[]): Promise<readonly unknown[]> => {
  fences += 1;
  const past = stream.heard().length;
  const fence = { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { fence: fences } };
  server.says(...messages, fence);
  return (await stream.before(fence)).slice(past);
};

describe('a log message is told to no other client', () => {
  test('while the server may still be about a call that was given up', async () => {
    const { reply } = await called(caller, 'given-up');
    await cancel(caller, 1);
    await reply;
    assert.deepEqual(await overheard(log('secret')), []);
    clock.advance(BOUNDS.abandonedMs);
    assert.deepEqual(await overheard(log('for all')), [log('for all')]);
  });

  test('until the server has answered what was given up', async () => {
    const { reply, id } = await called(caller, 'given-up');
    await cancel(caller, 1);
    await reply;
    assert.deepEqual(await overheard(log('secret'), answer(id), log('for all')), [log('for all')]);
  });

  test('while the server may still be about a call of a session that has ended', async () => {
    const { reply } = await called(caller, 'ended');
    await caller.end();
    await reply;
    assert.deepEqual(await overheard(log('secret')), []);
  });

  test('while the server may still be about a call whose connection was lost', async () => {
    const { reply } = await called(caller, 'lost');
    bridge.multiplexer.lost();
    await reply;
    bridge.multiplexer.resumed(server.link);
    assert.deepEqual(await overheard(log('secret')), []);
  });

  test('during a request of any method, whatever the other has under way', async () => {
    const completing = await asked(caller, 'completion/complete', { argument: { name: 'a', value: 'secret' } });
    assert.deepEqual(await overheard(log('secret')), []);
    const own = await called(other, 'own');
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
      await until('the calls', () => Promise.resolve(!process.isQuiet || undefined));
      controller.abort();
      await Promise.all(all);
    };
    await giveUp('caller', 1);
    await giveUp('other', BOUNDS.abandoned);
    void asking('other', new AbortController().signal);
    await setImmediate();
    assert.deepEqual([process.soleAsker(), process.soleCaller(), process.isQuiet], [undefined, undefined, false]);
    clock.advance(BOUNDS.abandonedMs);
    assert.deepEqual([process.soleAsker(), process.soleCaller()], ['other', 'other']);
  });
});
