import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerStatus, type Behaviour, type Exchange, startBackend } from '../fixtures/backend.ts';
import { circuitOf, untilCircuit, withBreaker } from '../fixtures/circuits.ts';
import { onCall, stopGateway } from '../fixtures/gateway.ts';
import { frozenClock } from '../fixtures/frozen-clock.ts';
import { openSession } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';

test('streams of sessions are not opened again while the circuit is open, and then they are', async (t) => {
  const clock = frozenClock();
  const backend = await startBackend({ hasStream: true, capabilities: { tools: { listChanged: true } } });
  const running = await startRuntime(
    configFile({ a: backend.url }, withBreaker({ failureThreshold: 1 })),
    {},
    { clock },
  );
  t.after(() => stopGateway({ backend, running, clock }));
  const session = await openSession(running.url);
  await session.call('a_echo');
  await backend.received(({ http }) => http === 'GET');
  onCall(backend, () => answerStatus(503));
  await session.call('a_echo');
  assert.equal(circuitOf(running), 'open');
  backend.set({ hasStream: true });
  backend.drop();
  while (backend.streams.size > 0) await new Promise((resolve) => setImmediate(resolve));
  const before = backend.requests.length;
  for (let n = 0; n < 5; n += 1) {
    clock.advance(10_000);
    await fetch(`${running.managementUrl}/healthz`);
  }
  assert.equal(backend.requests.length, before);
  clock.advance(10_000);
  await untilCircuit(running, 'closed');
  clock.advance(30_000);
  await backend.received((request) => request.http === 'GET' && backend.requests.indexOf(request) >= before);
});

test('a session with subscriptions that its backend has lost is not opened again while the circuit is open, and then it is', async (t) => {
  const clock = frozenClock();
  const options = { hasStream: true, lists: { resources: ['{"uri":"x://r","name":"r"}'] } };
  const backend = await startBackend(options);
  const running = await startRuntime(
    configFile({ a: backend.url }, withBreaker({ failureThreshold: 1 })),
    {},
    { clock },
  );
  t.after(() => stopGateway({ backend, running, clock }));
  // It can be asked, so its session at the backend has a stream.
  const session = await openSession(running.url, { elicitation: {} });
  await session.toolNames();
  await session.request('resources/subscribe', { uri: 'x://r' });
  await backend.received(({ http }) => http === 'GET');
  const refuses = ({ recorded: { method } }: Exchange): Behaviour | undefined =>
    method === 'initialize' || method === 'tools/call' ? answerStatus(503) : undefined;
  backend.sessions.clear();
  backend.set({ ...options, on: refuses });
  backend.drop();
  const before = backend.requests.length;
  const begun = (wanted: string): boolean => backend.requests.slice(before).some(({ method }) => method === wanted);
  const turnUntil = async (isSo: () => boolean): Promise<void> => {
    for (let n = 0; n < 500 && !isSo(); n += 1) {
      clock.advance(1_000);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.ok(isSo());
  };
  await turnUntil(() => begun('initialize'));
  await session.call('a_echo');
  assert.equal(circuitOf(running), 'open');
  const opened = backend.requests.length;
  for (let n = 0; n < 5; n += 1) {
    clock.advance(11_000);
    await fetch(`${running.managementUrl}/healthz`);
  }
  assert.deepEqual(
    backend.requests.slice(opened).map(({ method }) => method),
    [],
  );
  backend.set(options);
  await turnUntil(() => begun('resources/subscribe'));
  assert.equal(circuitOf(running), 'closed');
});
