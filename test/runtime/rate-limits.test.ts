import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { RateLimits } from '../../runtime/gate/index.ts';
import type { Running } from '../../runtime/start.ts';
import { errorOf, resultText } from '../fixtures/answers.ts';
import { count, type FixtureBackend, startBackend } from '../fixtures/backend.ts';
import { frozenClock, type FrozenClock } from '../fixtures/frozen-clock.ts';
import { limitedGate, named } from '../fixtures/gates.ts';
import { sendModern, type Sent } from '../fixtures/modern-caller.ts';
import { openSession, type RawAnswer } from '../fixtures/raw-client.ts';
import { configFile, silentLog, startRuntime } from '../fixtures/runtime.ts';
import { bothOf } from '../fixtures/workflows.ts';
import { covers } from '../requirements.ts';

const MINUTE = 60_000;

const bucket = (maxTokens: number, refillPeriod = '1m') => ({ maxTokens, refillPeriod });
const size = (capacity: number) => ({ capacity, refillPeriodMs: MINUTE });

describe('rate limits', () => {
  let backend: FixtureBackend;
  let clock: FrozenClock;
  let running: Running;

  beforeEach(async () => {
    backend = await startBackend({
      tools: ['echo', 'other'],
      lists: { prompts: ['{"name":"p"}'], resources: [] },
      capabilities: { prompts: {} },
    });
    clock = frozenClock();
  });
  afterEach(async () => {
    const stopped = running.stop();
    await backend.close();
    clock.advance(MINUTE);
    await stopped;
  });

  const startWith = async (rateLimiting: object): Promise<void> => {
    running = await startRuntime(filesOf(rateLimiting), {}, { clock });
    await openSession(running.url).then(({ toolNames }) => toolNames());
  };
  const filesOf = (rateLimiting: object) => configFile({ a: backend.url }, { rateLimiting });

  /** Limits per user, for users who are named by a header. */
  const startFor = async (limits: Partial<RateLimits>): Promise<void> => {
    const features = (deps: Parameters<typeof limitedGate>[0]) => ({ gate: limitedGate(deps, limits) });
    running = await startRuntime(configFile({ a: backend.url }), {}, { clock, features });
    await openSession(running.url).then(({ toolNames }) => toolNames());
  };

  const call = (name = 'a_echo', user?: string, more: Sent = {}): Promise<RawAnswer> =>
    sendModern(running.url, { name, ...more, ...(user !== undefined && { headers: named(user) }) });
  /** Codes of JSON-RPC errors; undefined for results. */
  const codes = async (calls: readonly Promise<RawAnswer>[]): Promise<readonly (number | undefined)[]> =>
    (await Promise.all(calls)).map((answer) => errorOf(answer)?.code);
  const admitted = async (calls: readonly Promise<RawAnswer>[]): Promise<number> =>
    (await codes(calls)).filter((code) => code === undefined).length;
  const times = <T>(length: number, make: () => T): T[] => Array.from({ length }, make);
  const forwarded = (): number => count(backend, 'tools/call');

  covers('ratelimit.shared', 'ratelimit.bucket.burst', 'ratelimit.server-bucket-empty');
  test('as many requests as the bucket holds pass at once, of whichever callers; the next is not forwarded', async () => {
    await startFor({ shared: size(3) });
    assert.equal(await admitted([call('a_echo', 'ann'), call('a_echo', 'bob'), call('a_other', 'eve')]), 3);
    const refused = await call('a_echo', 'dan');
    assert.deepEqual([refused.status, errorOf(refused).code, errorOf(refused).data.reason], [200, 429, 'rate_limited']);
    assert.equal(errorOf(refused).message, 'too many requests; try again later');
    assert.equal(forwarded(), 3);
  });

  covers('ratelimit.bucket.refill-rate');
  test('a refusal names the exact time, and a request passes then and not a millisecond earlier', async () => {
    await startWith({ shared: bucket(7) });
    await Promise.all(times(7, call));
    clock.advance(3);
    const refused = await call();
    const wait = Math.ceil(MINUTE / 7) - 3;
    assert.equal(errorOf(refused).data['retryAfterSeconds'], wait / 1_000);
    assert.equal(refused.headers.get('retry-after'), `${Math.ceil(wait / 1_000)}`);
    clock.advance(wait - 1);
    assert.deepEqual(await codes([call()]), [429]);
    clock.advance(1);
    assert.deepEqual([await codes([call()]), await codes([call()])], [[undefined], [429]]);
  });

  covers('ratelimit.bucket.capacity', 'ratelimit.bucket.refill-period');
  test('a bucket is full after its period, and no fuller after any pause', async () => {
    await startWith({ shared: bucket(3) });
    assert.equal(await admitted(times(5, call)), 3);
    clock.advance(MINUTE);
    assert.equal(await admitted(times(5, call)), 3);
    clock.advance(100 * MINUTE);
    assert.equal(await admitted(times(5, call)), 3);
  });

  test('clients of earlier revisions are refused alike, in their sessions', async () => {
    await startWith({ shared: bucket(1) });
    const session = await openSession(running.url);
    assert.equal(resultText(await session.call('a_echo')), 'echo {}');
    const { status, json } = await session.call('a_echo');
    const { error } = json as { readonly error: { readonly code: number; readonly data: object } };
    assert.deepEqual([status, error.code], [200, 429]);
    assert.deepEqual(
      { ...error.data, correlationId: '' },
      {
        reason: 'rate_limited',
        retryAfterSeconds: 60,
        correlationId: '',
      },
    );
  });

  covers('ratelimit.per-user');
  test('each user has a bucket of their own', async () => {
    await startFor({ perUser: size(2) });
    assert.equal(await admitted(times(5, () => call('a_echo', 'ann'))), 2);
    assert.equal(await admitted(times(5, () => call('a_other', 'bob'))), 2);
  });

  covers('ratelimit.tools.only-named', 'ratelimit.tool-bucket-empty', 'ratelimit.tools.shared');
  test('a limit of a tool is for all users together, and for no other tool', async () => {
    await startFor({ tools: new Map([['a_echo', { shared: size(2) }]]) });
    assert.equal(await admitted([call('a_echo', 'ann'), call('a_echo', 'bob'), call('a_echo', 'eve')]), 2);
    assert.equal(await admitted(times(5, () => call('a_other', 'ann'))), 5);
    assert.equal(forwarded(), 7);
  });

  covers('ratelimit.tools.per-user');
  test('a limit of a tool per user leaves other users, and other tools, alone', async () => {
    await startFor({ tools: new Map([['a_echo', { perUser: size(1) }]]) });
    assert.equal(await admitted(times(3, () => call('a_echo', 'ann'))), 1);
    assert.equal(await admitted(times(3, () => call('a_echo', 'bob'))), 1);
    assert.equal(await admitted(times(3, () => call('a_other', 'ann'))), 3);
  });

  covers('ratelimit.both-must-pass', 'ratelimit.tools.extra');
  test('a call needs a token from both the server and the tool, and takes none where one is missing', async () => {
    await startWith({ shared: bucket(3), tools: [{ name: 'a_echo', shared: bucket(1) }] });
    assert.equal(await admitted(times(10, () => call('a_echo'))), 1);
    // The calls that were refused have cost the server's bucket nothing.
    assert.equal(await admitted(times(10, () => call('a_other'))), 2);
    clock.advance(MINUTE / 3);
    assert.deepEqual(await codes([call('a_echo')]), [429]);
    assert.deepEqual(await codes([call('a_other')]), [undefined]);
    clock.advance((2 * MINUTE) / 3);
    await Promise.all(times(3, () => call('a_other')));
    assert.deepEqual(await codes([call('a_echo')]), [429]);
  });

  test('the wait is that of the bucket that is empty the longest', async () => {
    await startWith({ shared: bucket(1, '10s'), tools: [{ name: 'a_echo', shared: bucket(1, '40s') }] });
    await call('a_echo');
    assert.equal(errorOf(await call('a_echo')).data['retryAfterSeconds'], 40);
    assert.equal(errorOf(await call('a_other')).data['retryAfterSeconds'], 10);
  });

  test('the tool is the one that the body names, however its name is spelt there', async () => {
    await startWith({ tools: [{ name: 'a_echo', shared: bucket(1) }] });
    const session = await openSession(running.url);
    const spelt = (name: string) =>
      session.send(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"${name}"}}`, {
        'mcp-name': 'a_other',
      });
    assert.equal(errorOf(await spelt('a_echo')), undefined);
    for (const name of ['a_echo', 'a\\u005fecho', '\\u0061_echo']) assert.equal(errorOf(await spelt(name)).code, 429);
    assert.equal(forwarded(), 1);
  });

  test('prompts count for the server; lists, pings and notifications do not', async () => {
    await startWith({ shared: bucket(1) });
    const session = await openSession(running.url);
    for (const method of ['tools/list', 'prompts/list', 'ping'])
      assert.equal(errorOf(await session.request(method)), undefined, method);
    await session.send({ jsonrpc: '2.0', method: 'notifications/progress', params: {} });
    const prompt = () => session.request('prompts/get', { name: 'a_p' });
    assert.notEqual(errorOf(await prompt())?.code, 429);
    assert.equal(errorOf(await prompt()).code, 429);
  });

  test('an unknown name costs no token', async () => {
    await startWith({ shared: bucket(1) });
    const session = await openSession(running.url);
    assert.equal(errorOf(await session.call('a_none')).data.reason, 'unknown_name');
    assert.equal(resultText(await session.call('a_echo')), 'echo {}');
  });

  test('what a tool calls counts for the tools that it calls, and once for the server', async () => {
    const features = (deps: Parameters<typeof limitedGate>[0]) => ({
      gate: limitedGate(deps, { shared: size(2), tools: new Map([['a_other', { shared: size(1) }]]) }),
      ownTools: { workflow: bothOf('a_echo', 'a_other') },
    });
    running = await startRuntime(configFile({ a: backend.url }), {}, { clock, features });
    await openSession(running.url).then(({ toolNames }) => toolNames());
    assert.equal(errorOf(await call('both')), undefined);
    // The step is refused, not the request.
    const second = await call('both');
    assert.equal(errorOf(second).code, 429);
    assert.equal(forwarded(), 3);
    assert.deepEqual(await codes([call('a_echo')]), [429]);
  });

  test('a changed limit is in force without a restart, and counts what was spent', async () => {
    await startWith({ shared: bucket(3) });
    assert.equal(await admitted(times(5, call)), 3);
    assert.deepEqual(running.reload(filesOf({ shared: bucket(5) })), { ok: true });
    assert.equal(await admitted(times(5, call)), 2);
    assert.deepEqual(running.reload(filesOf({ shared: bucket(1) })), { ok: true });
    assert.equal(errorOf(await call()).data['retryAfterSeconds'], 60);
    assert.deepEqual(running.reload(filesOf({})), { ok: true });
    assert.equal(await admitted(times(5, call)), 5);
    assert.deepEqual(running.reload(filesOf({ tools: [{ name: 'a_echo', shared: bucket(1) }] })), { ok: true });
    assert.equal(await admitted(times(5, call)), 1);
  });

  test('a limit for a name that no tool has is reported in the log, at the start and after a change', async () => {
    const lines: unknown[] = [];
    const log = { ...silentLog, warn: (fields: object, message: string) => void lines.push({ ...fields, message }) };
    const limitsFor = (...names: readonly string[]) =>
      filesOf({ tools: names.map((name) => ({ name, shared: bucket(1) })) });
    running = await startRuntime(limitsFor('echo', 'a_echo'), {}, { clock, log });
    await openSession(running.url).then(({ toolNames }) => toolNames());
    const message = 'rate limit without effect, no tool has this name';
    assert.deepEqual(lines, [{ tool: 'echo', message }]);
    running.reload(limitsFor('a_echo', 'a_gone'));
    assert.deepEqual(lines.slice(1), [{ tool: 'a_gone', message }]);
  });
});
