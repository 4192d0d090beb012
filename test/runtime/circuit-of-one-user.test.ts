import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { reasonOf, resultText } from '../fixtures/answers.ts';
import { answerStatus, count, hang } from '../fixtures/backend.ts';
import { circuitOf, untilCircuit, withBreaker } from '../fixtures/circuits.ts';
import { bearer, tokenGate } from '../fixtures/gates.ts';
import { onCall } from '../fixtures/gateway.ts';
import { type OutgoingGateway, startOutgoing } from '../fixtures/outgoing.ts';
import { openSession, type RawSession } from '../fixtures/raw-client.ts';
import { answerWith, startTokenEndpoint, type TokenEndpoint } from '../fixtures/token-endpoint.ts';
import { until } from '../cluster/until.ts';

const ENDS_AT = Date.UTC(2026, 0, 2);
const SOON = { timeoutMs: 10_000, intervalMs: 1 };

let gateway: OutgoingGateway;
const start = async (strategy: object): Promise<void> => {
  gateway = await startOutgoing({
    strategy,
    more: withBreaker(),
    deps: { features: (deps) => ({ gate: tokenGate(deps.clock.now) }) },
  });
};
const sessionOf = (user: string, serial = 0): Promise<RawSession> =>
  openSession(gateway.running.url, {}, bearer(user, ENDS_AT, serial));
const calls = (): number => count(gateway.backend, 'tools/call');
const checks = (): number => count(gateway.backend, 'ping');

describe('a user whose calls all fail while the backend serves the others', () => {
  let alice: RawSession;
  let mallory: RawSession;

  beforeEach(async () => {
    await start({ type: 'unauthenticated' });
    alice = await sessionOf('alice');
    mallory = await sessionOf('mallory');
    for (const session of [alice, mallory]) await session.toolNames();
  });
  afterEach(() => gateway.stop());

  const called = (session: RawSession, args: object = {}) => session.call('a_echo', args);
  const failsFor = (behaviour: typeof hang): void =>
    onCall(gateway.backend, ({ recorded }) => (recorded.body.includes('"bad"') ? behaviour : undefined));

  test('opens nobody’s circuit with calls that time out together, again and again', async () => {
    failsFor(hang);
    for (const _round of [1, 2, 3]) {
      const before = calls();
      const hanging = [1, 2, 3, 4, 5].map(() => called(mallory, { bad: true }));
      await until('five calls', async () => calls() === before + 5 || undefined, SOON);
      for (let seconds = 3; seconds <= 30; seconds += 3) {
        assert.equal(resultText(await called(alice)), 'echo {}');
        gateway.clock.advance(3_000);
      }
      for (const answer of await Promise.all(hanging)) assert.equal(reasonOf(answer), 'backend_timeout');
      assert.equal(circuitOf(gateway.running), 'closed');
    }
  });

  test('nor with calls that fail at once, before anybody else has called: the backend is checked', async () => {
    failsFor(answerStatus(503));
    gateway.clock.advance(2_000);
    const before = checks();
    for (let n = 0; n < 12; n += 1) assert.equal(reasonOf(await called(mallory, { bad: true })), 'backend_unavailable');
    gateway.clock.advance(2_000);
    await until('a check', async () => checks() > before || undefined, SOON);
    assert.equal(circuitOf(gateway.running), 'closed');
    assert.equal(resultText(await called(alice)), 'echo {}');
  });

  test('two users open it, whatever checks say', async () => {
    failsFor(answerStatus(503));
    for (const session of [mallory, mallory, mallory, alice, alice]) {
      assert.equal(circuitOf(gateway.running), 'closed');
      await called(session, { bad: true });
    }
    assert.equal(circuitOf(gateway.running), 'open');
  });

  test('one alone opens it where the check fails, too', async () => {
    gateway.backend.set({ on: () => answerStatus(503) });
    for (let n = 0; n < 5; n += 1) await called(alice);
    gateway.clock.advance(2_000);
    await untilCircuit(gateway.running, 'open');
    assert.equal(reasonOf(await called(alice)), 'circuit_open');
  });
});

describe('a token endpoint', () => {
  let endpoint: TokenEndpoint;

  beforeEach(async () => {
    endpoint = await startTokenEndpoint();
    await start({ type: 'token_exchange', tokenExchange: { tokenUrl: endpoint.url } });
  });
  afterEach(async () => {
    await gateway.stop();
    await endpoint.close();
  });

  const callAs = async (user: string, serial = 0): Promise<string> =>
    reasonOf(await (await sessionOf(user, serial)).call('a_echo'));

  test('that fails for the tokens of one user opens no circuit, with a new token each time', async () => {
    for (const user of ['mallory', 'alice']) await (await sessionOf(user)).toolNames();
    endpoint.instead = (response, { form }) =>
      form['subject_token']?.includes('mallory')
        ? answerWith(503, '')(response, { form, headers: {} })
        : answerWith(200, { access_token: 'x', token_type: 'Bearer' })(response, { form, headers: {} });
    for (let serial = 1; serial <= 8; serial += 1)
      assert.equal(await callAs('mallory', serial), 'credential_unavailable');
    assert.equal(circuitOf(gateway.running), 'closed');
    assert.equal(resultText(await (await sessionOf('alice')).call('a_echo')), 'echo {}');
  });

  for (const areListed of [true, false])
    test(`that is down opens it with the fifth user, users ${areListed ? 'with' : 'without'} lists`, async () => {
      const users = ['a', 'b', 'c', 'd', 'e'];
      if (areListed) for (const user of users) await (await sessionOf(user)).toolNames();
      endpoint.instead = answerWith(503, '');
      for (const user of users) {
        assert.equal(circuitOf(gateway.running), 'closed');
        for (const serial of [1, 2, 3]) await (await sessionOf(user, serial)).call('a_echo');
      }
      assert.equal(circuitOf(gateway.running), 'open');
    });
});
