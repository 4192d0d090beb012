import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../runtime/start.ts';
import { until } from '../cluster/until.ts';
import { resultOf } from '../fixtures/answers.ts';
import {
  answerJson,
  answerStatus,
  type Behaviour,
  type Exchange,
  type FixtureBackend,
  startBackend,
} from '../fixtures/backend.ts';
import { frozenClock, type FrozenClock } from '../fixtures/frozen-clock.ts';
import { bearer, tokenGate } from '../fixtures/gates.ts';
import { acceptListening, listen, type Listening, tellOn } from '../fixtures/listening.ts';
import { sendModern } from '../fixtures/modern-caller.ts';
import { openSession } from '../fixtures/raw-client.ts';
import { type ClientStream, reading } from '../fixtures/replicas.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { asUser, credentialIn } from '../fixtures/strategies.ts';

const SOON = { timeoutMs: 10_000, intervalMs: 2 };
const CHANGED = 'notifications/tools/list_changed';
const TOOLS = { toolsListChanged: true };
const CAPABILITIES = '{"tools":{"listChanged":true}}';

describe('a backend of 2026-07-28 that lists something else to each user', () => {
  let clock: FrozenClock;
  let backend: FixtureBackend;
  let running: Running;
  /** What it lists now. */
  let tool: string;
  /** The streams on which it tells of changes, with the users whose they are. */
  let streams: Map<ServerResponse, string>;
  let closing: (() => void | Promise<void>)[];

  const on = (exchange: Exchange): Behaviour | undefined => {
    const { headers, method } = exchange.recorded;
    const { subject } = credentialIn(headers);
    if (subject === 'probe') return answerStatus(401);
    if (method === 'server/discover')
      return answerJson(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":${CAPABILITIES}}`);
    if (method === 'tools/list')
      return answerJson(`{"resultType":"complete","tools":[{"name":"${tool}","inputSchema":{"type":"object"}}]}`);
    if (method !== 'subscriptions/listen') return answerStatus(400);
    return (given) => {
      streams.set(given.response, subject);
      given.response.on('close', () => streams.delete(given.response));
      acceptListening(given);
    };
  };

  const file = (...names: readonly string[]) =>
    configFile(Object.fromEntries(names.map((name) => [name, backend.url])));

  beforeEach(async () => {
    clock = frozenClock();
    tool = 'first';
    streams = new Map();
    closing = [];
    backend = await startBackend({ on });
    const features = () => ({ gate: tokenGate(clock.now), connectStrategy: asUser(clock.now) });
    running = await startRuntime(file('a'), {}, { clock, features });
  });
  afterEach(async () => {
    for (const close of closing) await close();
    const stopped = running.stop();
    await backend.close();
    clock.advance(60_000);
    await stopped;
  });

  const as = (user: string) => bearer(user, Date.UTC(2026, 0, 2));
  const toolsOf = async (user: string): Promise<readonly string[]> => {
    const answer = await sendModern(running.url, { method: 'tools/list', name: '', headers: as(user) });
    return (resultOf(answer)['tools'] as readonly { readonly name: string }[]).map(({ name }) => name);
  };
  /** A client of 2026-07-28 that listens. */
  const listenAs = async (user: string): Promise<Listening> => {
    const listening = await listen(running.url, TOOLS, {}, as(user));
    closing.push(listening.close);
    assert.equal((await listening.next())?.method, 'notifications/subscriptions/acknowledged');
    return listening;
  };
  /** A client of an earlier revision that has a stream open. */
  const streamAs = async (user: string): Promise<ClientStream> => {
    const { id } = await openSession(running.url, {}, as(user));
    const stop = new AbortController();
    const headers = { ...as(user), 'mcp-session-id': id, accept: 'text/event-stream' };
    const stream = reading(await fetch(running.url, { headers, signal: stop.signal }), () => stop.abort());
    closing.push(stream.close);
    return stream;
  };
  const usersHeard = (): readonly string[] => [...streams.values()].toSorted();
  const heardFor = (...users: readonly string[]): Promise<unknown> =>
    until(`streams of ${users.join()}`, async () => (usersHeard().join() === users.join() ? true : undefined), SOON);
  /** Once the backend has begun to tell a user, what was listed before is listed once more. */
  const listedAgain = (user: string): Promise<unknown> =>
    until(
      `the second list of ${user}`,
      async () => {
        await toolsOf(user);
        const lists = backend.requests.filter(
          ({ method, headers }) => method === 'tools/list' && credentialIn(headers).subject === user,
        );
        return lists.length === 2 ? true : undefined;
      },
      SOON,
    );
  const change = (to: string, user: string): void => {
    tool = to;
    for (const [response, whose] of streams) if (whose === user) tellOn(response, CHANGED, {});
  };

  test('tells a user of a changed list: that user’s clients of both eras hear of it, and list anew', async () => {
    assert.deepEqual([await toolsOf('alice'), await toolsOf('bob')], [['a_first'], ['a_first']]);
    const [stream, ofBob] = [await streamAs('alice'), await streamAs('bob')];
    const [listening, bobListening] = [await listenAs('alice'), await listenAs('bob')];
    await Promise.all(['alice', 'bob'].map(listedAgain));
    change('second', 'alice');
    await stream.heard(CHANGED);
    assert.equal((await listening.next())?.method, CHANGED);
    assert.deepEqual([await toolsOf('alice'), await toolsOf('bob')], [['a_second'], ['a_first']]);
    assert.deepEqual(ofBob.messages, []);
    change('third', 'bob');
    assert.equal((await bobListening.next())?.method, CHANGED);
    assert.deepEqual([await toolsOf('alice'), await toolsOf('bob')], [['a_second'], ['a_third']]);
  });

  test('is listened to with the user’s own credential, for as long as the user has a client that listens', async () => {
    await toolsOf('alice');
    await toolsOf('bob');
    assert.deepEqual(usersHeard(), [], 'nobody listens');
    const both = [await listenAs('alice'), await listenAs('alice')];
    const stream = await streamAs('bob');
    await heardFor('alice', 'bob');
    await both[0]?.close();
    stream.close();
    assert.equal(await toolsOf('alice').then(String), 'a_first');
    assert.ok(usersHeard().includes('alice'), 'another client of the user listens');
    await both[1]?.close();
    // A session that has listened may do so again, and is not ended for it.
    await heardFor('bob');
  });

  test('that has changed before anybody listened is not taken for unchanged', async () => {
    assert.deepEqual(await toolsOf('alice'), ['a_first']);
    tool = 'second';
    assert.deepEqual(await toolsOf('alice'), ['a_first'], 'within a minute');
    await listenAs('alice');
    await heardFor('alice');
    await until('the new list', async () => ((await toolsOf('alice')).join() === 'a_second' ? true : undefined), SOON);
  });

  test('whose stream breaks off may have changed meanwhile: the user is told once it is open again', async () => {
    await toolsOf('alice');
    const listening = await listenAs('alice');
    await listedAgain('alice');
    for (const response of streams.keys()) response.end();
    await heardFor();
    tool = 'second';
    const told = listening.next();
    await until(
      'the stream to be open again',
      async () => {
        clock.advance(1_000);
        return usersHeard().length === 1 ? true : undefined;
      },
      SOON,
    );
    assert.equal((await told)?.method, CHANGED);
    assert.deepEqual(await toolsOf('alice'), ['a_second']);
  });

  test('that joins later is listened to for users who listen already; one that goes no longer', async () => {
    await toolsOf('alice');
    await listenAs('alice');
    await heardFor('alice');
    running.reload(file('a', 'b'));
    await toolsOf('alice');
    await heardFor('alice', 'alice');
    running.reload(file('b'));
    await heardFor('alice');
  });

  test('has no stream for a client that listens for something else', async () => {
    await toolsOf('alice');
    const listening = await listen(running.url, { resourceSubscriptions: [] }, {}, as('alice'));
    closing.push(listening.close);
    await listening.next();
    assert.deepEqual(usersHeard(), []);
  });
});
