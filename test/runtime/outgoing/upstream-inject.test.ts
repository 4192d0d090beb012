import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Caller } from '../../../runtime/call/caller.ts';
import type { RequestHead } from '../../../runtime/call/inbound.ts';
import { wantedBackendsOf } from '../../../runtime/config-slices.ts';
import { openGate } from '../../../runtime/gate/index.ts';
import { connectStrategy } from '../../../runtime/outgoing/index.ts';
import { errorOf, reasonOf, resultText } from '../../fixtures/answers.ts';
import { answerStatus } from '../../fixtures/backend.ts';
import { userOf } from '../../fixtures/callers.ts';
import { named } from '../../fixtures/gates.ts';
import { type OutgoingGateway, startOutgoing } from '../../fixtures/outgoing.ts';
import { sendModern } from '../../fixtures/modern-caller.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { covers } from '../../requirements.ts';
import { accepted } from '../config/files.ts';

const GITHUB = { type: 'upstream_inject', upstreamInject: { providerName: 'github' } };

/** What users have at providers, and which of it was refused. */
class Logins {
  readonly tokens = new Map<string, string>();
  readonly refused: (string | undefined)[] = [];
  /** What a provider gives in place of a refused token; absent: what the user has there. */
  renew: ((refused: string) => string) | undefined;

  readonly caller = ({ headers }: RequestHead): Caller => {
    const subject = String(headers['x-user']);
    return userOf(subject, {
      upstreamToken: async (provider, { refused }) => {
        const key = `${subject} at ${provider}`;
        if (refused !== undefined) this.refused.push(refused);
        if (refused !== undefined && this.renew) this.tokens.set(key, this.renew(refused));
        return this.tokens.get(key);
      },
    });
  };
}

describe('upstream_inject', () => {
  let logins: Logins;
  let gateway: OutgoingGateway;
  let isRefused: (authorization: string) => boolean;

  beforeEach(async () => {
    logins = new Logins();
    isRefused = () => false;
    gateway = await startOutgoing({
      // No file can name a provider before there is an authorization server that has some.
      strategy: { type: 'unauthenticated' },
      backend: {
        on: ({ recorded: { headers } }) =>
          headers.authorization === undefined || isRefused(headers.authorization) ? answerStatus(401) : undefined,
      },
      deps: {
        features: () => ({
          gate: { ...openGate, authenticate: logins.caller },
          connectStrategy: (_config, deps) => connectStrategy(GITHUB as never, deps),
        }),
      },
    });
  });
  afterEach(() => gateway.stop());

  const call = (subject: string) => sendModern(gateway.running.url, { headers: named(subject) });

  covers(
    'outgoing.upstream-inject.bearer-form',
    'outgoing-auth.upstream-inject.replaces-authorization',
    'outgoing-auth.strategy.upstream-inject',
  );
  test('each user’s requests carry the token that the user has at the provider, and no other', async () => {
    logins.tokens.set('alice at github', 'a1').set('bob at github', 'b1').set('alice at other', 'no');
    const authorization = 'Bearer of-the-client';
    const session = await openSession(gateway.running.url, {}, { ...named('alice'), authorization });
    assert.equal(resultText(await session.call('a_echo')), 'echo {}');
    assert.equal(resultText(await call('bob')), 'echo undefined');
    logins.tokens.set('alice at github', 'a2');
    await session.call('a_echo');
    const sent = gateway.backend.requests
      .filter(({ method }) => method === 'tools/call')
      .map(({ headers }) => headers.authorization);
    assert.deepEqual(sent, ['Bearer a1', 'Bearer b1', 'Bearer a2']);
    const others = new Set(gateway.backend.requests.map(({ headers }) => headers.authorization));
    assert.deepEqual(others, new Set([undefined, 'Bearer a1', 'Bearer b1', 'Bearer a2']), 'checks go without');
  });

  test('a user who has not signed in there is asked to, for just that provider', async () => {
    const challenged = await call('carol');
    assert.equal(challenged.status, 401);
    assert.match(
      challenged.headers.get('www-authenticate') ?? '',
      /^Bearer .*error="insufficient_scope".*scope="upstream:github"/,
    );
    assert.equal(errorOf(challenged).data.reason, 'login_required');
    assert.equal(errorOf(challenged).message, 'backend "a" needs a sign-in at "github"');
    const sent = gateway.backend.requests.filter(({ headers }) => headers.authorization !== undefined);
    assert.deepEqual(sent, []);
  });

  test('who has signed in is served from the next call on, without any wait', async () => {
    assert.equal(errorOf(await call('carol')).data.reason, 'login_required');
    const before = gateway.backend.requests.length;
    assert.equal(errorOf(await call('carol')).data.reason, 'login_required');
    assert.equal(gateway.backend.requests.length, before, 'nobody is asked to find that out');
    logins.tokens.set('carol at github', 'c1');
    assert.equal(resultText(await call('carol')), 'echo undefined');
    assert.equal(errorOf(await call('dave')).data.reason, 'login_required');
    logins.tokens.set('dave at github', 'd1');
    const listed = await sendModern(gateway.running.url, { method: 'tools/list', name: '', headers: named('dave') });
    assert.match(JSON.stringify(listed.json), /"a_echo"/);
  });

  test('a refused token is renewed once; where there is no other, the user has to sign in', async () => {
    logins.tokens.set('alice at github', 'a1');
    await call('alice');
    isRefused = (authorization) => authorization === 'Bearer a1';
    const before = gateway.backend.requests.length;
    const challenged = await call('alice');
    assert.equal(errorOf(challenged).data.reason, 'login_required');
    assert.deepEqual(logins.refused, ['a1'], 'the provider is told which token was refused');
    assert.equal(gateway.backend.requests.length - before, 1);
    logins.tokens.set('alice at github', 'a2');
    assert.equal(resultText(await call('alice')), 'echo undefined');
  });

  test('a backend that refuses fresh tokens, too, gives an error of the call, never a 401', async () => {
    logins.tokens.set('alice at github', 'a1');
    await call('alice');
    isRefused = () => true;
    logins.renew = (refused) => `${refused}+`;
    const before = gateway.backend.requests.length;
    const refused = await call('alice');
    assert.equal(refused.status, 200);
    assert.equal(reasonOf(refused), 'credential_unavailable');
    assert.equal(
      resultText(refused),
      'no credential for backend "a" (upstream_inject): the backend refuses the credential',
    );
    assert.deepEqual(
      gateway.backend.requests.slice(before).map(({ headers }) => headers.authorization),
      ['Bearer a1', 'Bearer a1+'],
    );
    assert.equal(reasonOf(await call('alice')), 'credential_unavailable');
    assert.deepEqual(logins.refused, ['a1'], 'the provider is not asked again for 5 s');
    isRefused = () => false;
    assert.equal(reasonOf(await call('alice')), 'credential_unavailable');
    logins.tokens.set('alice at github', 'a2');
    assert.equal(resultText(await call('alice')), 'echo undefined', 'a new token is tried at once');
  });
});

covers(
  'outgoing-auth.token-exchange.subject-provider-autofill',
  'outgoing-auth.token-exchange.subject-provider-no-autofill',
);
test('the first upstream provider is used where the configuration names none, and there is an embedded server', () => {
  const tokenExchange = { tokenUrl: 'https://idp.example/token' };
  const config = accepted({
    outgoingAuth: {
      source: 'inline',
      default: { type: 'token_exchange', tokenExchange },
      backends: { b: { type: 'unauthenticated' } },
    },
    backends: [
      { name: 'a', url: 'https://a.example', transport: 'sse' },
      { name: 'b', url: 'https://b.example', transport: 'sse' },
    ],
  });
  const strategies = (more: object) =>
    wantedBackendsOf({ ...config, ...more }).map(({ settings }) => settings.strategy);
  const authServer = { upstreamProviders: [{ name: 'first' }, { name: 'second' }] };
  const [withServer, unauthenticated] = strategies({ authServer });
  assert.equal(withServer?.tokenExchange?.subjectProviderName, 'first');
  assert.deepEqual(unauthenticated, { type: 'unauthenticated' });
  assert.equal(strategies({})[0]?.tokenExchange?.subjectProviderName, undefined);
  const outgoingAuth = {
    ...config.outgoingAuth,
    default: { type: 'token_exchange', tokenExchange: { ...tokenExchange, subjectProviderName: 'second' } },
  };
  assert.equal(strategies({ authServer, outgoingAuth })[0]?.tokenExchange?.subjectProviderName, 'second');
});
