import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Attachment, type Ended, keepAttached } from '../../../operator/bridge/index.ts';
import { until } from '../../cluster/until.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';

/** A cluster whose container, and the attachments to it, do what a test says. */
const startWorld = () => {
  const clock = frozenClock();
  const told: string[] = [];
  const logged: unknown[] = [];
  const stopping = new AbortController();
  let run: string | Error | undefined;
  let end: ((ended: Ended) => void) | undefined;
  let refusal: Error | undefined;
  const attach = (): Promise<Attachment> => {
    if (refusal) return Promise.reject(refusal);
    const { promise, resolve } = Promise.withResolvers<Ended>();
    end = resolve;
    const close = (): void => resolve({ hasExited: false, reason: 'closed' });
    return Promise.resolve({ link: { send: () => true }, ended: promise, close });
  };
  const tell = (word: string) => (): void => void told.push(word);
  const log = {
    debug: () => {},
    info: () => {},
    error: () => {},
    warn: ({ reason }: object & { reason?: unknown }) => void logged.push(reason),
  };
  const done = keepAttached(
    {
      multiplexer: { began: tell('began'), resumed: tell('resumed'), lost: tell('lost'), ended: tell('ended') },
      running: () => (run instanceof Error ? Promise.reject(run) : Promise.resolve(run)),
      attach,
      clock,
      random: () => 0,
      log,
    },
    stopping.signal,
  );
  return {
    clock,
    told,
    logged,
    is: (now: string | Error | undefined) => {
      run = now;
    },
    refuses: (why: string | undefined) => {
      refusal = why === undefined ? undefined : new Error(why);
    },
    ends: (hasExited: boolean) => end?.({ hasExited, reason: 'so' }),
    /** Lets time pass until the bridge has been told this. */
    tells: (...expected: readonly string[]) =>
      until(
        expected.join(),
        () => {
          if (JSON.stringify(told) === JSON.stringify(expected)) return Promise.resolve(true);
          clock.advance(1_000);
          return Promise.resolve(undefined);
        },
        { timeoutMs: 5_000, intervalMs: 1 },
      ),
    stop: () => {
      stopping.abort();
      return done;
    },
  };
};

test('a connection that is lost is made again to the same run', async () => {
  const world = startWorld();
  world.is('a');
  await world.tells('began');
  world.ends(false);
  await world.tells('began', 'lost', 'resumed');
  await world.stop();
});

test('a run that has ended is not attached to again, though the pod still names it', async () => {
  const world = startWorld();
  world.is('a');
  await world.tells('began');
  world.ends(true);
  await until('the end', () => Promise.resolve(world.told.length > 1 || undefined));
  world.clock.advance(10_000);
  assert.deepEqual(world.told, ['began', 'ended']);
  world.is('b');
  await world.tells('began', 'ended', 'began');
  await world.stop();
});

test('an exit that was none is found out in the end', async () => {
  const world = startWorld();
  world.is('a');
  await world.tells('began');
  world.ends(true);
  await world.tells('began', 'ended', 'began');
  await world.stop();
});

test('a container that stops running while the connection is lost has ended', async () => {
  const world = startWorld();
  world.is('a');
  await world.tells('began');
  world.is(undefined);
  world.ends(false);
  await world.tells('began', 'lost', 'ended');
  world.is('b');
  await world.tells('began', 'lost', 'ended', 'began');
  await world.stop();
});

test('a name that was out of date is noticed after a while, and the other run begins anew', async () => {
  const world = startWorld();
  world.is('a');
  await world.tells('began');
  world.is('b');
  await world.tells('began', 'ended', 'began');
  await world.stop();
});

test('why it is not attached is logged once for each reason', async () => {
  const world = startWorld();
  world.is(new Error('forbidden'));
  const logs = (count: number) =>
    until('a reason', () => {
      world.clock.advance(5_000);
      return Promise.resolve(world.logged.length >= count || undefined);
    });
  await logs(1);
  world.is('a');
  world.refuses('not allowed to attach');
  await logs(2);
  world.refuses(undefined);
  await world.tells('began');
  assert.deepEqual(world.logged, ['forbidden', 'not allowed to attach']);
  await world.stop();
});
