import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { errorOf, reasonOf, resultOf, resultText } from '../../fixtures/answers.ts';
import { answerStatus } from '../../fixtures/backend.ts';
import { bearer, tokenGate } from '../../fixtures/gates.ts';
import { type OutgoingGateway, startOutgoing } from '../../fixtures/outgoing.ts';
import { sendModern } from '../../fixtures/modern-caller.ts';
import { openSession, post } from '../../fixtures/raw-client.ts';
import { reading } from '../../fixtures/replicas.ts';
import { answerWith, exchangedIn, startTokenEndpoint, type TokenEndpoint } from '../../fixtures/token-endpoint.ts';

const ENDS_AT = Date.UTC(2026, 0, 2);

describe('a backend that cannot be listed for want of a credential', () => {
  let endpoint: TokenEndpoint;
  let gateway: OutgoingGateway;

  beforeEach(async () => {
    endpoint = await startTokenEndpoint();
    gateway = await startOutgoing({
      strategy: { type: 'token_exchange', tokenExchange: { tokenUrl: endpoint.url } },
      backend: {
        hasStream: true,
        on: ({ recorded: { headers } }) =>
          exchangedIn(headers.authorization) === undefined ? answerStatus(401) : undefined,
      },
      deps: { features: (deps) => ({ gate: tokenGate(deps.clock.now) }) },
    });
  });
  afterEach(async () => {
    await gateway.stop();
    await endpoint.close();
  });

  const call = (user: string, serial = 0) =>
    sendModern(gateway.running.url, { headers: bearer(user, ENDS_AT, serial) });
  const list = (user: string, method = 'tools/list') =>
    sendModern(gateway.running.url, { method, name: '', headers: bearer(user, ENDS_AT) });
  const toolsOf = async (user: string) =>
    (resultOf(await list(user))['tools'] as readonly { readonly name: string }[]).map(({ name }) => name);
  const refuse = (): void => {
    endpoint.instead = answerWith(400, { error: 'invalid_grant' });
  };
  const message = () => gateway.running.status().backends[0]?.message ?? '';

  test('is an error that says why, never an empty list', async () => {
    refuse();
    for (const method of ['tools/list', 'resources/list']) {
      const refused = await list('alice', method);
      assert.equal(refused.status, 200);
      assert.equal(errorOf(refused).data.reason, 'credential_unavailable');
      assert.match(errorOf(refused).message, /^no credential for backend "a" \(token_exchange\): .* invalid_grant$/);
    }
  });

  test('is asked again with another token at once, and with the same one once in a second', async () => {
    endpoint.instead = answerWith(503, '');
    assert.equal(reasonOf(await call('alice')), 'credential_unavailable');
    const before = endpoint.exchanges.length;
    endpoint.instead = undefined;
    const answers = await Promise.all([1, 2, 3].map(() => call('alice')));
    assert.deepEqual(answers.map(reasonOf), Array(3).fill('credential_unavailable'));
    assert.equal(endpoint.exchanges.length, before, 'however many calls there are');
    assert.equal(resultText(await call('alice', 1)), 'echo undefined');
    endpoint.instead = answerWith(503, '');
    await call('bob');
    endpoint.instead = undefined;
    gateway.clock.advance(1_000);
    assert.equal(resultText(await call('bob')), 'echo undefined');
  });

  test('keeps what each user saw last, and is named in the status for those who never saw it', async () => {
    assert.deepEqual(await toolsOf('alice'), ['a_echo']);
    refuse();
    gateway.clock.advance(301_000);
    await list('bob');
    for (let round = 0; round < 3; round += 1) {
      gateway.clock.advance(130_000);
      assert.deepEqual(await toolsOf('alice'), ['a_echo']);
    }
    assert.match(message(), /needs sign-in: it could not be listed for 2 of its users$/);
    endpoint.instead = undefined;
    gateway.clock.advance(130_000);
    assert.deepEqual(await toolsOf('alice'), ['a_echo']);
    assert.deepEqual(await toolsOf('bob'), ['a_echo']);
    assert.doesNotMatch(message(), /needs sign-in/);
  });

  test('is named by an explanation of why the user has no such tool', async () => {
    refuse();
    const { json } = await post(new URL('/explain', gateway.running.managementUrl).href, {
      token: bearer('alice', ENDS_AT).authorization.slice('Bearer '.length),
      kind: 'tool',
      name: 'a_echo',
    });
    const { steps } = json as { readonly steps: readonly { readonly step: string; readonly reason: string }[] };
    const filter = steps.find(({ step }) => step === 'filter');
    assert.match(
      filter?.reason ?? JSON.stringify(json),
      /^backend "a" could not be listed for this caller: no credential/,
    );
  });

  test('is listed again for a user whom it tells of a changed list, and only that user’s sessions are told', async () => {
    const { url } = gateway.running;
    const headersOf = (user: string) => bearer(user, ENDS_AT);
    const sessions = await Promise.all(
      ['alice', 'bob'].map((user) => openSession(url, { sampling: {} }, headersOf(user))),
    );
    const streams = await Promise.all(
      sessions.map(async ({ id }, index) => {
        const stop = new AbortController();
        const headers = {
          ...headersOf(index === 0 ? 'alice' : 'bob'),
          'mcp-session-id': id,
          accept: 'text/event-stream',
        };
        return reading(await fetch(url, { headers, signal: stop.signal }), () => stop.abort());
      }),
    );
    for (const session of sessions) await session.call('a_echo');
    const toldTo = await gateway.backend.received(
      ({ http, headers }) => http === 'GET' && (exchangedIn(headers.authorization) ?? '').includes('for alice'),
    );
    const listed = () => gateway.backend.requests.filter(({ method }) => method === 'tools/list').length;
    const before = listed();
    const session = String(toldTo.headers['mcp-session-id']);
    gateway.backend.tell('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}', session);
    await streams[0]?.heard('notifications/tools/list_changed');
    assert.deepEqual(await sessions[0]?.toolNames(), ['a_echo']);
    assert.equal(listed(), before + 1, 'without waiting for the minute to end');
    assert.deepEqual(await sessions[1]?.toolNames(), ['a_echo']);
    assert.equal(listed(), before + 1, 'not for the other user');
    assert.deepEqual(streams[1]?.messages, []);
    for (const { close } of streams) close();
  });
});
