import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { answerStatus, type BackendOptions } from '../../../fixtures/backend.ts';
import { bearer, tokenGate } from '../../../fixtures/gates.ts';
import { openSession } from '../../../fixtures/raw-client.ts';
import { answerWith, exchangedIn, startTokenEndpoint } from '../../../fixtures/token-endpoint.ts';
import { bothOf } from '../../../fixtures/workflows.ts';
import { type ReadEvent, startAudited } from './audited.ts';

const alice = bearer('alice', 9e15);

/** `type outcome`, and what came of the credential, where one was wanted. */
const told = (events: readonly ReadEvent[]): readonly string[] =>
  events
    .filter(({ type }) => type === 'mcp_tool_call')
    .map(({ outcome, credential }) => [outcome, credential?.strategy, credential?.outcome].filter(Boolean).join(' '));

describe('an event of a call says what came of the credential for the backend', () => {
  const start = async (t: TestContext, strategy: object, backend: BackendOptions = {}, more: object = {}) =>
    startAudited(
      t,
      {
        backend: { tools: ['t'], ...backend },
        more: { outgoingAuth: { source: 'inline', backends: { a: strategy } } },
      },
      { features: (deps) => ({ gate: tokenGate(deps.clock.now), ...more }) },
    );
  /** Refuses the calls that have these numbers; the first is 1. */
  const refusing = (...refused: readonly number[]): BackendOptions => {
    let calls = 0;
    return {
      on: ({ recorded: { method } }) => {
        if (method !== 'tools/call') return undefined;
        calls += 1;
        return refused.includes(calls) ? answerStatus(401) : undefined;
      },
    };
  };
  const exchanging = async (t: TestContext) => {
    const endpoint = await startTokenEndpoint();
    t.after(() => endpoint.close());
    return { endpoint, strategy: { type: 'token_exchange', tokenExchange: { tokenUrl: endpoint.url } } };
  };

  test('one from the cache, or a renewed one as the backend has refused it, or refused as well', async (t) => {
    const { strategy } = await exchanging(t);
    const { url, events } = await start(t, strategy, refusing(2, 4, 5));
    const session = await openSession(url, {}, alice);
    // The list is read with the token that the call then finds.
    for (let call = 0; call < 3; call += 1) await session.call('a_t');
    assert.deepEqual(told(await events()), [
      'success token_exchange cached',
      'success token_exchange renewed',
      'error token_exchange refused',
    ]);
  });

  test('one that is exchanged for a call itself', async (t) => {
    const { strategy } = await exchanging(t);
    const { url, events } = await start(t, strategy);
    const first = await openSession(url, {}, alice);
    await first.call('a_t');
    // Another token of the same user, whose lists are known.
    const second = await openSession(url, {}, bearer('alice', 9e15, 1));
    await second.call('a_t');
    assert.deepEqual(told(await events()), ['success token_exchange cached', 'success token_exchange obtained']);
  });

  test('none is to be had: the call was not sent', async (t) => {
    const { endpoint, strategy } = await exchanging(t);
    const { url, backend, events } = await start(t, strategy);
    const session = await openSession(url, {}, alice);
    await session.toolNames();
    endpoint.instead = answerWith(400, { error: 'invalid_grant' });
    const other = await openSession(url, {}, bearer('alice', 9e15, 1));
    await other.call('a_t');
    const [event] = (await events()).filter(({ type }) => type === 'mcp_tool_call');
    assert.deepEqual(event?.credential, { strategy: 'token_exchange', outcome: 'unavailable' });
    assert.equal(event.metadata.extra['error_code'], 'credential_unavailable');
    assert.equal(event.target?.['backend'], 'a');
    assert.ok(backend.requests.every(({ method }) => method !== 'tools/call'));
  });

  test('a secret of the owner is sent, or refused', async (t) => {
    const strategy = { type: 'header_injection', headerInjection: { headerName: 'X-Key', headerValue: 'k' } };
    const { url, events } = await start(t, strategy, refusing(2));
    const session = await openSession(url, {}, alice);
    for (let call = 0; call < 2; call += 1) await session.call('a_t');
    assert.deepEqual(told(await events()), ['success header_injection sent', 'error header_injection refused']);
  });

  test('a token of the user is sent, or refused', async (t) => {
    const strategy = { type: 'token_relay', tokenRelay: {} };
    const { url, events } = await start(t, strategy, refusing(2));
    const session = await openSession(url, {}, alice);
    for (let call = 0; call < 2; call += 1) await session.call('a_t');
    assert.deepEqual(told(await events()), ['success token_relay sent', 'error token_relay refused']);
  });

  test('no credential is wanted, or nothing is sent: nothing is said of it', async (t) => {
    const { url, events } = await start(t, { type: 'unauthenticated' });
    const session = await openSession(url, {}, alice);
    await session.call('a_t');
    await session.call('a_nothing');
    assert.deepEqual(told(await events()), ['success', 'failure']);
  });

  test('inner calls have what came of theirs', async (t) => {
    const { strategy } = await exchanging(t);
    const { url, events } = await start(
      t,
      strategy,
      { tools: ['t', 'u'] },
      { ownTools: { workflow: bothOf('a_t', 'a_u') } },
    );
    const session = await openSession(url, {}, alice);
    await session.call('both');
    const calls = (await events()).filter(({ type }) => type === 'mcp_tool_call');
    assert.deepEqual(
      calls.map(({ target, credential }) => [target?.['name'], credential?.outcome]),
      [
        ['a_t', 'cached'],
        ['a_u', 'cached'],
        ['both', undefined],
      ],
    );
  });

  test('nothing of the credential itself is in the log', async (t) => {
    const { endpoint, strategy } = await exchanging(t);
    const { url, backend, events } = await start(t, strategy);
    const session = await openSession(url, {}, alice);
    await session.call('a_t');
    const text = JSON.stringify(await events());
    const [token = ''] = backend.requests.flatMap(({ headers: { authorization = '' } }) =>
      exchangedIn(authorization) === undefined ? [] : [authorization.slice('Bearer '.length)],
    );
    assert.ok(token !== '' && !text.includes(token));
    assert.ok(endpoint.exchanges.every(({ form }) => !text.includes(String(form['subject_token']))));
  });
});
