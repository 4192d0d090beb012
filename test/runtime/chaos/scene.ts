import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { type Behaviour, count, type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { frozenClock, type FrozenClock } from '../../fixtures/frozen-clock.ts';
import { openSession, type RawAnswer, type RawSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

/** A gateway over a backend that misbehaves and one that does not, with one client. */
export interface Scene {
  readonly bad: FixtureBackend;
  readonly running: Running;
  readonly clock: FrozenClock;
  readonly session: RawSession;
  /** From now on every call of the bad one's tools meets this; without it, a proper answer. */
  readonly onCall: (behaviour?: Behaviour) => void;
  readonly callBad: () => Promise<RawAnswer>;
  /** Calls that have reached the bad backend since the scene began. */
  readonly executions: () => number;
  /** Sessions opened with the bad backend since the scene began. */
  readonly handshakes: () => number;
  /** The other backend is served, the bad one is as soon as it behaves, and nothing is under way any more. */
  readonly ends: () => Promise<void>;
}

/** So long that a stop which waits for a request never comes to its end in a test: time stands still. */
const FOREVER = { servingMs: 0, callsMs: 24 * 3_600_000, farewellMs: 1_000 };

/** Ends with the test, however that ends. */
export const openScene = async (t: TestContext, operational: object = {}): Promise<Scene> => {
  const clock = frozenClock();
  const [bad, good] = await Promise.all([startBackend(), startBackend()]);
  const files = configFile({ bad: bad.url, good: good.url }, { operational });
  const running = await startRuntime(files, { stopTimes: FOREVER }, { clock });
  t.after(async () => {
    const stopped = running.stop();
    await Promise.all([bad.close(), good.close()]);
    clock.advance(48 * 3_600_000);
    await stopped;
  });
  const session = await openSession(running.url);
  assert.deepEqual(await session.toolNames(), ['bad_echo', 'good_echo']);
  await session.call('bad_echo');
  const begun = { calls: count(bad, 'tools/call'), handshakes: count(bad, 'initialize') };
  const isServed = async (tool: string): Promise<void> =>
    assert.deepEqual(outcomeOf(await session.call(tool)), { text: 'echo {}' });
  const onCall = (behaviour?: Behaviour): void =>
    bad.set({ on: ({ recorded }) => (recorded.method === 'tools/call' ? behaviour : undefined) });
  return {
    bad,
    running,
    clock,
    session,
    onCall,
    callBad: () => session.call('bad_echo'),
    executions: () => count(bad, 'tools/call') - begun.calls,
    handshakes: () => count(bad, 'initialize') - begun.handshakes,
    ends: async () => {
      await isServed('good_echo');
      onCall();
      await isServed('bad_echo');
      await running.stop();
    },
  };
};

/** What a client sees of a call: the text, and the reason when it failed. */
export const outcomeOf = ({ status, json }: RawAnswer): { readonly text?: string; readonly reason?: string } => {
  assert.equal(status, 200);
  const { result } = json as {
    result: { isError?: true; content: { text?: string }[]; _meta?: Record<string, { reason?: string }> };
  };
  const { text = '' } = result.content[0] ?? {};
  const { reason = 'none' } = result._meta?.['vmcp.dev/error'] ?? {};
  return result.isError ? { text, reason } : { text };
};
