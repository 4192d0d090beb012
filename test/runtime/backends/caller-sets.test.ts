import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UserBackendSessions } from '../../../runtime/backends/index.ts';
import { VmcpError } from '../../../runtime/errors.ts';
import { userOf } from '../../fixtures/callers.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';

test('a user whose clients take each other’s only place is kept one, however often they do', async () => {
  const callers = new UserBackendSessions({ clock: frozenClock(), idleMs: () => 60_000, users: 1 });
  const visit = (mode: string) => {
    const capabilities = Buffer.from(JSON.stringify({ sampling: { [mode]: {} } }));
    const { backendSessions, release } = callers.acquire({ caller: userOf('ada'), capabilities, cancel: () => {} });
    release();
    return backendSessions;
  };
  for (let n = 0; n < 10; n += 1) {
    const mode = n % 2 === 0 ? 'a' : 'b';
    assert.equal(visit(mode), visit(mode), `visit ${n}`);
  }
  await callers.close();
});

test('the calls under way are cancelled each, and once, whichever of them have ended before', async () => {
  const callers = new UserBackendSessions({ clock: frozenClock(), idleMs: () => 60_000, users: 1 });
  const cancelled: string[] = [];
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) =>
    callers.acquire({
      caller: { kind: 'anonymous' },
      capabilities: Buffer.from('{}'),
      cancel: () => void cancelled.push(name),
    }),
  );
  b?.release();
  d?.release();
  callers.cancelAllCalls(new VmcpError('backend_unavailable', 'the server is stopping'));
  assert.deepEqual(cancelled.toSorted(), ['a', 'c']);
  a?.release();
  callers.cancelAllCalls(new VmcpError('backend_unavailable', 'the server is stopping'));
  assert.deepEqual(cancelled.slice(2), ['c']);
  c?.release();
  await callers.close();
});
