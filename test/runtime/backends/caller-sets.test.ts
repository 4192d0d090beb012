import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallerLinks } from '../../../runtime/backends/index.ts';
import { VmcpError } from '../../../runtime/errors.ts';
import { userOf } from '../../fixtures/callers.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';

test('a user whose clients take each other’s only place is kept one, however often they do', async () => {
  const callers = new CallerLinks({ clock: frozenClock(), idleMs: () => 60_000, users: 1 });
  const visit = (mode: string) => {
    const capabilities = Buffer.from(JSON.stringify({ sampling: { [mode]: {} } }));
    const { links, giveBack } = callers.borrow({ caller: userOf('ada'), capabilities, cancel: () => {} });
    giveBack();
    return links;
  };
  for (let n = 0; n < 10; n += 1) {
    const mode = n % 2 === 0 ? 'a' : 'b';
    assert.equal(visit(mode), visit(mode), `visit ${n}`);
  }
  await callers.close();
});

test('the calls under way are cancelled each, and once, whichever of them have ended before', async () => {
  const callers = new CallerLinks({ clock: frozenClock(), idleMs: () => 60_000, users: 1 });
  const cancelled: string[] = [];
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) =>
    callers.borrow({
      caller: { kind: 'anonymous' },
      capabilities: Buffer.from('{}'),
      cancel: () => void cancelled.push(name),
    }),
  );
  b?.giveBack();
  d?.giveBack();
  callers.cancelAllCalls(new VmcpError('backend_unavailable', 'the server is stopping'));
  assert.deepEqual(cancelled.toSorted(), ['a', 'c']);
  a?.giveBack();
  callers.cancelAllCalls(new VmcpError('backend_unavailable', 'the server is stopping'));
  assert.deepEqual(cancelled.slice(2), ['c']);
  c?.giveBack();
  await callers.close();
});
