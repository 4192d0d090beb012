import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Attachment, type Ended, keepAttached } from '../../../operator/bridge/index.ts';
import { until } from '../../cluster/until.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';

/** A cluster whose container, and the attachments to it, do what a test says. */
const startCluster = () => {
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
  const cluster = startCluster();
  cluster.is('a');
  await cluster.tells('began');
  cluster.ends(false);
  await cluster.tells('began', 'lost', 'resumed');
  await cluster.stop();
});

test('a run that has ended is not attached to again, though the pod still names it', async () => {
  const cluster = startCluster();
  cluster.is('a');
  await cluster.tells('began');
  cluster.ends(true);
  await until('the end', () => Promise.resolve(cluster.told.length > 1 || undefined));
  cluster.clock.advance(10_000);
  assert.deepEqual(cluster.told, ['began', 'ended']);
  cluster.is('b');
  await cluster.tells('began', 'ended', 'began');
  await cluster.stop();
});

test('an exit that was none is found out in the end', async () => {
  const cluster = startCluster();
  cluster.is('a');
  await cluster.tells('began');
  cluster.ends(true);
  await cluster.tells('began', 'ended', 'began');
  await cluster.stop();
});

test('a container that stops running while the connection is lost has ended', async () => {
  const cluster = startCluster();
  cluster.is('a');
  await cluster.tells('began');
  cluster.is(undefined);
  cluster.ends(false);
  await cluster.tells('began', 'lost', 'ended');
  cluster.is('b');
  await cluster.tells('began', 'lost', 'ended', 'began');
  await cluster.stop();
});

test('a name that was out of date is noticed after a while, and the other run begins anew', async () => {
  const cluster = startCluster();
  cluster.is('a');
  await cluster.tells('began');
  cluster.is('b');
  await cluster.tells('began', 'ended', 'began');
  await cluster.stop();
});

test('why it is not attached is logged once for each reason', async () => {
  const cluster = startCluster();
  cluster.is(new Error('forbidden'));
  const logs = (count: number) =>
    until('a reason', () => {
      cluster.clock.advance(5_000);
      return Promise.resolve(cluster.logged.length >= count || undefined);
    });
  await logs(1);
  cluster.is('a');
  cluster.refuses('not allowed to attach');
  await logs(2);
  cluster.refuses(undefined);
  await cluster.tells('began');
  assert.deepEqual(cluster.logged, ['forbidden', 'not allowed to attach']);
  await cluster.stop();
});
