import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { ForbiddenAddressError } from '../../../runtime/http/addresses.ts';
import { BackendClient } from '../../../runtime/backends/backend-client.ts';
import { ByteBudget } from '../../../runtime/process/byte-budget.ts';
import type { Caller } from '../../../runtime/call/caller.ts';
import { VmcpError } from '../../../runtime/errors.ts';
import { LIMITS } from '../../../runtime/limits.ts';
import { type BackendRequest, type Prove, proveWith, type Strategy } from '../../../runtime/outgoing/index.ts';
import { type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { userOf } from '../../fixtures/callers.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { hasCode } from '../store/has-code.ts';
import { neverIdle } from '../../fixtures/idle-timeout.ts';

const REQUEST: BackendRequest = {
  method: 'POST',
  path: '/mcp',
  headers: ['content-type', 'application/json'],
  body: Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}'),
  onMessage: () => 'other',
  idleTimeout: neverIdle,
};

/** Tells the backend the caller's token, and notes what it was asked to prove. */
const noting =
  (proved: BackendRequest[]): Prove =>
  (callerNow) =>
  (next) =>
  (request) => {
    proved.push(request);
    return next({ ...request, headers: [...request.headers, 'x-token', tokenOf(callerNow())] });
  };
const tokenOf = (caller: Caller): string => (caller.kind === 'user' ? caller.token : caller.kind);

/** The circuit of a backend without a breaker. */
const alwaysClosed = { isClosed: true, refusal: () => assert.fail('nothing is refused') };

describe('the client of a backend', () => {
  let backend: FixtureBackend;
  let clients: BackendClient[];

  beforeEach(async () => {
    backend = await startBackend();
    clients = [];
  });
  afterEach(async () => {
    await Promise.all(clients.map((client) => client.destroy()));
    await backend.close();
  });

  const clientWith = (
    strategy: Partial<Strategy>,
    currentCaller: (caller: Caller) => Caller = (caller) => caller,
    url = backend.url,
  ): BackendClient => {
    const client = new BackendClient(
      { name: 'a', url, transport: 'streamable-http', strategy: { type: 'unauthenticated' } },
      {
        clock: frozenClock(),
        random: () => 0.5,
        clientInfo: { name: 'vmcp', version: '0' },
        limits: LIMITS.backend,
        answers: new ByteBudget(1_000_000),
        lists: new ByteBudget(0),
        onChange: () => {},
        readFile: () => Promise.reject(new Error('no files')),
        connectStrategy: () => ({ dependsOnCaller: false, close: async () => {}, ...strategy }),
        currentCaller,
        circuit: alwaysClosed,
      },
    );
    clients.push(client);
    return client;
  };
  const tokens = () => backend.requests.map(({ headers }) => headers['x-token']);

  test('speaks for a user with the token that is valid when something is sent', async () => {
    let token = 'first';
    const current = (caller: Caller): Caller => (caller.kind === 'user' ? { ...caller, token } : caller);
    const fetch = clientWith({ prove: noting([]) }, current).fetchFor(userOf('alice'));
    await fetch(REQUEST);
    token = 'second';
    await fetch(REQUEST);
    assert.deepEqual(tokens(), ['first', 'second']);
  });

  test('speaks for the owner of a session as the owner is when something is sent', async () => {
    let owner: Caller = userOf('alice', { token: 'of one client' });
    const fetch = clientWith({ prove: noting([]) }).fetchForOwner(() => owner);
    await fetch(REQUEST);
    owner = userOf('alice', { token: 'of another client' });
    await fetch(REQUEST);
    assert.deepEqual(tokens(), ['of one client', 'of another client']);
  });

  test('asks for itself over connections of its own, by no user’s token', async () => {
    const proved: BackendRequest[] = [];
    const never = (): Caller => assert.fail('the gateway has no token');
    await clientWith({ prove: noting(proved) }, never).probe(REQUEST);
    assert.equal(proved[0]?.lane, 'control');
    assert.deepEqual(tokens(), ['probe']);
  });

  test('sends nothing where there is no credential, and tells so without a word of why', async () => {
    const failing = (error: Error): Prove =>
      proveWith<string>({
        of: { backend: 'a', strategy: 'test' },
        current: async () => {
          throw error;
        },
        renewed: () => assert.fail('nothing is refused'),
        addTo: () => assert.fail('there is nothing to add'),
        refusal: () => assert.fail('nothing is refused'),
        measures: { cached: () => {}, refused: () => {} },
      });
    const bad = new TypeError('the secret is hunter2');
    const fetch = clientWith({ prove: failing(bad) }).fetchFor({ kind: 'anonymous' });
    await assert.rejects(fetch(REQUEST), (error) => {
      assert.ok(error instanceof VmcpError && hasCode('credential_unavailable')(error));
      assert.equal(error.message, 'no credential for backend "a" (test): it cannot be had');
      assert.equal(error.cause, bad);
      return true;
    });
    const wanting = failing(new VmcpError('login_required', 'sign in'));
    await assert.rejects(clientWith({ prove: wanting }).probe(REQUEST), hasCode('login_required'));
    assert.deepEqual(backend.requests, []);
  });

  test('takes for no missing credential what fails once a request is on its way', async () => {
    const client = clientWith({ prove: noting([]) }, undefined, 'http://169.254.169.254/mcp');
    await assert.rejects(client.probe(REQUEST), ForbiddenAddressError);
  });

  test('closes its strategy when it is closed, and when everything is broken off', async () => {
    let closed = 0;
    const close = async (): Promise<void> => void (closed += 1);
    await clientWith({ close }).close();
    assert.equal(closed, 1);
    await clientWith({ close }).destroy();
    assert.equal(closed, 2);
  });
});
