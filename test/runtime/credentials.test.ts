import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, test } from 'node:test';
import type { Running } from '../../runtime/start.ts';
import { until } from '../cluster/until.ts';
import { resultText } from '../fixtures/answers.ts';
import { type Exchange, type FixtureBackend, startBackend, textResult } from '../fixtures/backend.ts';
import { frozenClock } from '../fixtures/frozen-clock.ts';
import { bearer, tokenGate } from '../fixtures/gates.ts';
import { LISTEN_HEADERS, listenRequest } from '../fixtures/listening.ts';
import { sendModern } from '../fixtures/modern-caller.ts';
import { INITIALIZE, post } from '../fixtures/raw-client.ts';
import { type ClientStream, reading } from '../fixtures/replicas.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { asUser, CREDENTIAL, credentialIn } from '../fixtures/strategies.ts';

const LIFE_MS = 1_000;
const STEPS = 12;
const soon = { timeoutMs: 10_000, intervalMs: 1 };

/** What the backend was told of who is calling, when, and whether that was right. */
interface Proof {
  readonly what: string;
  readonly subject: string;
  readonly token: string | undefined;
  readonly fault: string | undefined;
}

describe('credentials and tokens that end every second', () => {
  const clock = frozenClock();
  const proofs: Proof[] = [];
  /** By session of the backend: the user whose it is. */
  const owners = new Map<string, string>();
  /** Streams of calls that wait for an answer to what the backend has asked, by user. */
  const asking = new Map<string, { readonly response: ServerResponse; readonly id: string }>();
  let backend: FixtureBackend;
  let running: Running;
  let serial = 0;

  const faultOf = (subject: string, endsAt: number | null, session: string | undefined): string | undefined => {
    if (endsAt !== null && endsAt <= clock.now()) return 'stale';
    if (session === undefined) return undefined;
    const owner = owners.get(session) ?? subject;
    owners.set(session, owner);
    return owner === subject ? undefined : `foreign: of ${owner}`;
  };

  const note = ({ recorded: { headers, http, method, body } }: Exchange): string => {
    const what = method ?? (http === 'POST' ? 'answer' : http);
    if (headers[CREDENTIAL] === undefined) {
      proofs.push({ what, subject: '', token: undefined, fault: `none: ${body}` });
      return '';
    }
    const { subject, endsAt, token } = credentialIn(headers);
    const session = headers['mcp-session-id'] as string | undefined;
    proofs.push({ what, subject, token, fault: faultOf(subject, endsAt, session) });
    return subject;
  };

  /** Asks in the middle of a call of `ask`, and finishes it once it is answered. */
  const on = (exchange: Exchange) => {
    const subject = note(exchange);
    const { method, params, http } = exchange.recorded;
    if (method === 'tools/call' && params['name'] === 'ask')
      return ({ id, response }: Exchange) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const question = { jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: { message: '?' } };
        response.write(`data: ${JSON.stringify(question)}\n\n`);
        asking.set(subject, { response, id });
      };
    if (http === 'POST' && method === undefined)
      return ({ response }: Exchange) => {
        response.writeHead(202).end();
        const call = asking.get(subject);
        asking.delete(subject);
        call?.response.end(`data: {"jsonrpc":"2.0","id":${call.id},"result":${textResult('answered')}}\n\n`);
      };
    return undefined;
  };

  before(async () => {
    backend = await startBackend({
      tools: ['echo', 'ask'],
      lists: { resources: ['{"uri":"a://1","name":"1"}'] },
      capabilities: { resources: { subscribe: true } },
      hasStream: true,
      on,
    });
    running = await startRuntime(
      configFile({ a: backend.url }),
      {},
      { clock, features: () => ({ gate: tokenGate(clock.now), connectStrategy: asUser(clock.now, LIFE_MS) }) },
    );
  });
  after(async () => {
    const stopped = running.stop();
    await backend.close();
    clock.advance(60_000);
    await stopped;
  });

  /** A token that has just been made. */
  const fresh = (subject: string) => bearer(subject, clock.now() + LIFE_MS, (serial += 1));

  const openAs = async (subject: string) => {
    const params = { ...INITIALIZE.params, capabilities: { elicitation: {} } };
    const { headers } = await post(running.url, { ...INITIALIZE, params }, fresh(subject));
    const session = { 'mcp-session-id': headers.get('mcp-session-id') ?? '' };
    let id = 0;
    const request = (method: string, given: object) =>
      post(running.url, { jsonrpc: '2.0', id: (id += 1), method, params: given }, { ...session, ...fresh(subject) });
    return { subject, session, request };
  };
  type Client = Awaited<ReturnType<typeof openAs>>;

  /** Calls `ask`, and answers once the tokens of the call have ended. */
  const answerLate = async ({ session, subject }: Client): Promise<void> => {
    const response = await fetch(running.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...session,
        ...fresh(subject),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 'ask', method: 'tools/call', params: { name: 'a_ask' } }),
    });
    const stream: ClientStream = reading(response, () => {});
    const { id } = await stream.heard('elicitation/create');
    clock.advance(LIFE_MS);
    const answer = { jsonrpc: '2.0', id, result: { action: 'accept', content: {} } };
    assert.equal((await post(running.url, answer, { ...session, ...fresh(subject) })).status, 202);
    await until('the answer', async () => stream.messages.find((message) => message['id'] === 'ask'), soon);
  };

  const modernCall = (subject: string) => sendModern(running.url, { headers: fresh(subject) });

  /** Hears of the resource for as long as the test goes on. */
  const listenAs = async (subject: string): Promise<ClientStream> => {
    const stop = new AbortController();
    const response = await fetch(running.url, {
      method: 'POST',
      headers: { ...LISTEN_HEADERS, ...fresh(subject) },
      body: listenRequest({ resourceSubscriptions: ['a://1'] }),
      signal: stop.signal,
    });
    return reading(response, () => stop.abort());
  };

  const of = (what: string) => proofs.filter((proof) => proof.what === what && proof.subject !== 'probe');
  const tokensOf = (what: string): number => new Set(of(what).map(({ token }) => token)).size;

  test('are never used beyond their end, nor for another user, whatever is sent and when', async () => {
    const clients = await Promise.all(['alice', 'bob'].map(openAs));
    const listening = await Promise.all(['alice', 'bob'].map(listenAs));
    for (let step = 0; step < STEPS; step += 1) {
      clock.advance(LIFE_MS);
      // Streams break, and now and then the backend forgets every session: what was sent in them is sent again in new
      // ones.
      for (const stream of backend.streams.keys()) stream.end();
      if (step % 3 === 2) backend.sessions.clear();
      const answers = await Promise.all(
        clients.flatMap(({ subject, request }) => [
          request('tools/call', { name: 'a_echo', arguments: { step } }),
          request('tools/call', { name: 'a_echo', arguments: { step } }),
          modernCall(subject),
        ]),
      );
      for (const answer of answers) assert.match(resultText(answer), /^echo /);
      for (const client of clients) await answerLate(client);
    }
    // Broken streams are tried again after a while, and only then it shows that subscriptions have to be begun anew.
    await until(
      'subscriptions begun anew',
      async () => {
        await Promise.all(clients.map(({ subject }) => modernCall(subject)));
        clock.advance(LIFE_MS / 2);
        return tokensOf('resources/subscribe') > 2 ? true : undefined;
      },
      soon,
    );
    for (const { session, subject } of clients) {
      const ended = await fetch(running.url, { method: 'DELETE', headers: { ...session, ...fresh(subject) } });
      assert.equal(ended.status, 204);
    }
    await until('the sessions have ended', async () => (of('DELETE').length >= 2 ? true : undefined), soon);
    for (const { close } of listening) close();

    assert.deepEqual(
      proofs.filter(({ fault }) => fault !== undefined),
      [],
    );
    // Each of the ways was really gone, and most of them with more than one token.
    assert.ok(of('tools/call').length >= STEPS * 8, 'calls');
    assert.equal(of('answer').length, STEPS * 2, 'answers to questions');
    assert.equal(tokensOf('answer'), STEPS * 2);
    assert.ok(tokensOf('GET') > 4, `streams opened anew: ${tokensOf('GET')}`);
    assert.ok(tokensOf('initialize') > 8, `sessions opened anew: ${tokensOf('initialize')}`);
  });
});
