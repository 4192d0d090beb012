import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Behaviour, type Exchange, startBackend } from '../../fixtures/backend.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { noRedis, startRedis } from '../../fixtures/redis.ts';
import { isReady, openShared, sharedConfig } from '../../fixtures/replicas.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

const SLOW = 'slow-session';

/** A backend whose next session opens when it is let. */
const slowBackend = async () => {
  const arrived = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let isSlow = false;
  const openLate: Behaviour = ({ id, response }) => {
    arrived.resolve();
    void gate.promise.then(() => {
      backend.sessions.add(SLOW);
      const result =
        '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"f","version":"1"}}';
      response.setHeader('mcp-session-id', SLOW);
      response.setHeader('content-type', 'application/json');
      response.end(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
    });
  };
  const on = ({ recorded: { method } }: Exchange): Behaviour | undefined => {
    if (method !== 'initialize' || !isSlow) return undefined;
    isSlow = false;
    return openLate;
  };
  const backend = await startBackend({ on });
  const ended = () => backend.received(({ http, headers }) => http === 'DELETE' && headers['mcp-session-id'] === SLOW);
  return {
    backend,
    arrived: arrived.promise,
    open: gate.resolve,
    ended,
    slowFromNow: () => {
      isSlow = true;
    },
  };
};

describe('a backend session that opens when no call needs it any more', () => {
  for (const isCancelled of [false, true])
    test(`is ended: its client has gone${isCancelled ? ', its call was cancelled before' : ''}`, async () => {
      const { backend, arrived, open, ended, slowFromNow } = await slowBackend();
      const running = await startRuntime(configFile({ a: backend.url }));
      const session = await openSession(running.url);
      await session.toolNames();
      slowFromNow();
      const call = session.send({ jsonrpc: '2.0', id: 'c', method: 'tools/call', params: { name: 'a_echo' } });
      await arrived;
      const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c' } };
      if (isCancelled) await session.send(cancelled);
      await session.end();
      open();
      await ended();
      await call;
      await running.stop();
      await backend.close();
    });

  test('is ended: the store that was to keep it has gone', { skip: noRedis }, async () => {
    const redis = await startRedis();
    const { backend, arrived, open, ended, slowFromNow } = await slowBackend();
    const running = await startRuntime(sharedConfig(redis.address, { a: backend.url }));
    await isReady(running.managementUrl);
    const session = await openShared(running.url);
    await session.send(running.url, { id: 1, method: 'tools/list' });
    slowFromNow();
    const call = session.call(running.url, 2, 'a_echo');
    await arrived;
    await redis.kill();
    open();
    await ended();
    assert.match((await call).text, /store/);
    await running.stop();
    await backend.close();
    await redis.stop();
  });
});
