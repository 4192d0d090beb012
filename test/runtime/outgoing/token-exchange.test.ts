import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { until } from '../../cluster/until.ts';
import { reasonOf, resultText } from '../../fixtures/answers.ts';
import { answerStatus, type Exchange } from '../../fixtures/backend.ts';
import { bearer, tokenGate } from '../../fixtures/gates.ts';
import { neverIdle } from '../../fixtures/idle-timeout.ts';
import { type OutgoingGateway, type SecretFiles, secretFiles, startOutgoing } from '../../fixtures/outgoing.ts';
import { sendModern } from '../../fixtures/modern-caller.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import {
  answerWith,
  exchangedIn,
  startTokenEndpoint,
  type TokenBehaviour,
  type TokenEndpoint,
} from '../../fixtures/token-endpoint.ts';
import { VmcpError } from '../../../runtime/errors.ts';
import { type BackendRequest, connectStrategy, type StrategyDeps } from '../../../runtime/outgoing/index.ts';
import { userOf } from '../../fixtures/callers.ts';
import { strategyDeps } from '../../fixtures/strategies.ts';
import { hasCode } from '../store/has-code.ts';
import { covers } from '../../requirements.ts';
import { problemsOf } from '../config/files.ts';

/** An hour after the start of the frozen clock. */
const ENDS_AT = Date.UTC(2026, 0, 1, 1);
const SOON = { timeoutMs: 5_000, intervalMs: 1 };
const URN = 'urn:ietf:params:oauth:token-type:';

describe('token_exchange', () => {
  let endpoint: TokenEndpoint;
  let files: SecretFiles;
  let gateway: OutgoingGateway;
  /** What the backend answers instead, by what its token says. */
  let on: (told: string, exchange: Exchange) => ReturnType<typeof answerStatus> | undefined;

  before(async () => {
    files = await secretFiles();
  });
  after(() => files.close());
  beforeEach(async () => {
    endpoint = await startTokenEndpoint();
    on = () => undefined;
  });
  afterEach(async () => {
    await gateway.stop();
    await endpoint.close();
  });

  const start = async (block: object = {}, environment: (name: string) => string | undefined = () => undefined) => {
    gateway = await startOutgoing({
      strategy: { type: 'token_exchange', tokenExchange: { tokenUrl: endpoint.url, ...block } },
      backend: {
        hasStream: true,
        on: (exchange) => {
          const told = exchangedIn(exchange.recorded.headers.authorization);
          return told === undefined ? answerStatus(401) : on(told, exchange);
        },
      },
      deps: { environment, features: (deps) => ({ gate: tokenGate(deps.clock.now) }) },
    });
    return gateway;
  };
  const as = (subject: string, serial = 0) => bearer(subject, ENDS_AT, serial);
  const call = (subject: string, args = {}, serial = 0) =>
    sendModern(gateway.running.url, { args, headers: as(subject, serial) });
  const form = () => endpoint.exchanges.at(-1)?.form ?? {};
  const tokenOf = (headers: { authorization: string }) => headers.authorization.slice('Bearer '.length);

  covers(
    'outgoing.token-exchange.grant',
    'outgoing-auth.strategy.token-exchange',
    'outgoing.token-exchange.replaces-authorization',
    'outgoing.token-exchange.subject-issued-jwt',
    'outgoing-auth.token-exchange.subject-provider-no-autofill',
    'outgoing-auth.token-exchange.subject-token-type-default',
    'outgoing-auth.boundary-separate',
  );
  test('the token of the client is exchanged once, and every request carries what it was exchanged for', async () => {
    await start();
    const session = await openSession(gateway.running.url, { elicitation: {} }, as('alice'));
    assert.equal(resultText(await session.call('a_echo', { n: 1 })), 'echo {"n":1}');
    assert.equal(resultText(await session.call('a_echo', { n: 2 })), 'echo {"n":2}');
    await session.end();
    await gateway.backend.received(({ http }) => http === 'DELETE');
    assert.deepEqual(endpoint.exchanges.length, 1);
    const shown = tokenOf(as('alice'));
    assert.deepEqual(form(), {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: shown,
      subject_token_type: `${URN}access_token`,
      requested_token_type: `${URN}access_token`,
    });
    assert.equal(endpoint.exchanges[0]?.headers.authorization, undefined);
    const told = gateway.backend.requests.map(({ headers }) => exchangedIn(headers.authorization));
    assert.deepEqual(new Set(told), new Set([undefined, `exchanged 1 for ${shown}`]), 'checks go without');
  });

  covers(
    'outgoing-auth.token-exchange.audience',
    'outgoing-auth.token-exchange.scopes',
    'outgoing-auth.token-exchange.client-id',
    'outgoing-auth.token-exchange.client-secret',
    'outgoing-auth.token-exchange.subject-token-type',
    'outgoing.token-exchange.audience',
    'outgoing.token-exchange.scopes',
  );
  test('audience, scopes, type and client are those of the configuration', async () => {
    await start({
      audience: 'https://backend.example',
      scopes: ['read', 'write'],
      clientId: 'gate way',
      clientSecret: 's3cr3t:/ü',
      subjectTokenType: `${URN}id_token`,
    });
    await call('alice');
    const { audience, scope, subject_token_type: type, client_id: id } = form();
    assert.deepEqual(
      [audience, scope, type, id],
      ['https://backend.example', 'read write', `${URN}id_token`, undefined],
    );
    const basic = Buffer.from('gate+way:s3cr3t%3A%2F%C3%BC').toString('base64');
    assert.equal(endpoint.exchanges[0]?.headers.authorization, `Basic ${basic}`);
  });

  covers(
    'outgoing.token-exchange.subject-token-type-default',
    'outgoing.token-exchange.subject-token-type-id-token',
    'outgoing.token-exchange.subject-token-type-jwt',
  );
  for (const [short, sent] of [
    ['access_token', `${URN}access_token`],
    ['id_token', `${URN}id_token`],
    ['jwt', `${URN}jwt`],
    [`${URN}jwt`, `${URN}jwt`],
  ] as const)
    test(`subjectTokenType ${short} is sent as ${sent}`, async () => {
      await start({ subjectTokenType: short });
      await call('alice');
      assert.equal(form()['subject_token_type'], sent);
    });

  test('a client without a secret only names itself', async () => {
    await start({ clientId: 'public' });
    await call('alice');
    assert.equal(form()['client_id'], 'public');
    assert.equal(endpoint.exchanges[0]?.headers.authorization, undefined);
  });

  covers('outgoing-auth.token-exchange.client-secret-env');
  test('the client secret may be in the environment', async () => {
    await start({ clientId: 'c', clientSecretEnv: 'SECRET' }, (name) => (name === 'SECRET' ? 'e' : undefined));
    await call('alice');
    assert.equal(endpoint.exchanges[0]?.headers.authorization, `Basic ${Buffer.from('c:e').toString('base64')}`);
  });

  covers('outgoing.token-exchange.client-credentials');
  test('a rotated client secret counts for the next exchange; a missing one is an error', async () => {
    const clientSecretFile = await files.write('client', 'first');
    await start({ clientId: 'c', clientSecretFile });
    await call('alice');
    await files.write('client', 'second');
    await call('bob');
    const secrets = endpoint.exchanges.map(({ headers }) =>
      Buffer.from(headers.authorization?.slice('Basic '.length) ?? '', 'base64').toString(),
    );
    assert.deepEqual(secrets, ['c:first', 'c:second']);
    await files.remove('client');
    const refused = await call('carol');
    assert.match(JSON.stringify(refused.json), /\(token_exchange\): the client secret is missing or empty/);
    assert.equal(endpoint.exchanges.length, 2, 'nothing is asked for as another client');
  });

  covers('outgoing.token-exchange.external-header');
  test('with externalTokenHeaderName the token is in that header, and Authorization in no request', async () => {
    await start({ externalTokenHeaderName: 'X-Upstream-Token' });
    on = () => undefined;
    gateway.backend.set({});
    await call('alice');
    const [request] = gateway.backend.requests.filter(({ method }) => method === 'tools/call');
    const { 'x-upstream-token': external, authorization } = request?.headers ?? {};
    assert.equal(exchangedIn(String(external)), `exchanged 1 for ${tokenOf(as('alice'))}`);
    assert.equal(authorization, undefined);
  });

  test('each user, and each token of a user, has an own exchange', async () => {
    await start();
    for (const [subject, serial] of [
      ['alice', 0],
      ['bob', 0],
      ['alice', 0],
      ['alice', 1],
      ['bob', 0],
    ] as const)
      assert.equal(resultText(await call(subject, {}, serial)), 'echo {}');
    const subjects = endpoint.exchanges.map(({ form: { subject_token: token = '' } }) => token.replace(/ \d+ /, ' '));
    assert.deepEqual(subjects, ['alice 0', 'bob 0', 'alice 1']);
  });

  test('a token that expires in the middle of load is renewed, and no call fails', async () => {
    await start();
    endpoint.lifeSeconds = 60;
    for (let step = 0; step < 30; step += 1) {
      const answers = await Promise.all(['alice', 'bob'].flatMap((user) => [call(user), call(user), call(user)]));
      for (const answer of answers) assert.equal(resultText(answer), 'echo {}');
      gateway.clock.advance(10_000);
    }
    // 300 s at 45 s each: a quarter of the life is left when a token is renewed.
    const rounds = endpoint.exchanges.length / 2;
    assert.ok(rounds >= 6 && rounds <= 10, String(rounds));
  });

  test('a token that the backend refuses is dropped, and the request sent once more with a new one', async () => {
    await start();
    const session = await openSession(gateway.running.url, {}, as('alice'));
    await session.call('a_echo');
    on = (told) => (told.startsWith('exchanged 1 ') ? answerStatus(401) : undefined);
    const answers = await Promise.all([1, 2, 3].map((n) => session.call('a_echo', { n })));
    assert.deepEqual(answers.map(resultText), ['echo {"n":1}', 'echo {"n":2}', 'echo {"n":3}']);
    assert.equal(endpoint.exchanges.length, 2, 'one exchange for all three');
  });

  test('a backend that refuses the new token too gives an error of the call, never a 401', async () => {
    await start();
    const session = await openSession(gateway.running.url, {}, as('alice'));
    await session.call('a_echo');
    on = () => answerStatus(401);
    const before = gateway.backend.requests.length;
    const refused = await session.call('a_echo');
    assert.equal(reasonOf(refused), 'credential_unavailable');
    assert.equal(
      resultText(refused),
      'no credential for backend "a" (token_exchange): the backend refuses the credential',
    );
    assert.equal(gateway.backend.requests.length - before, 2, 'sent twice, not more');
    assert.equal(endpoint.exchanges.length, 2);
  });

  test('a backend that refuses all tokens costs the endpoint no more than a token in 5 s', async () => {
    await start();
    const session = await openSession(gateway.running.url, {}, as('alice'));
    await session.call('a_echo');
    on = () => answerStatus(401);
    const before = gateway.backend.requests.length;
    const refuse = async () => {
      const answers = await Promise.all([1, 2, 3, 4, 5].map(() => session.call('a_echo')));
      assert.deepEqual(answers.map(reasonOf), Array(5).fill('credential_unavailable'));
    };
    await session.call('a_echo');
    await refuse();
    assert.deepEqual([endpoint.exchanges.length, gateway.backend.requests.length - before], [2, 2]);
    gateway.clock.advance(5_000);
    await session.call('a_echo');
    await refuse();
    assert.equal(endpoint.exchanges.length, 3);
    on = () => undefined;
    assert.equal(resultText(await call('alice', {}, 1)), 'echo {}', 'another token of the user starts afresh');
    gateway.clock.advance(5_000);
    assert.equal(resultText(await session.call('a_echo')), 'echo {}');
  });

  test('checks of health never exchange anything, and a backend that refuses them is called all the same', async () => {
    await start();
    const status = () => gateway.running.status().backends[0]?.status;
    await until('a check', async () => (status() === 'unauthenticated' ? true : undefined), SOON);
    assert.equal(endpoint.exchanges.length, 0);
    assert.equal(resultText(await call('alice')), 'echo {}');
    assert.equal(status(), 'unauthenticated');
  });

  const failures: readonly (readonly [string, TokenBehaviour, string])[] = [
    [
      'refuses the token',
      answerWith(400, { error: 'invalid_grant' }),
      'the token endpoint refuses the exchange: invalid_grant',
    ],
    [
      'refuses the client',
      answerWith(401, { error: 'invalid_client' }),
      'the token endpoint refuses the exchange: invalid_client',
    ],
    [
      'refuses in words of its own',
      answerWith(403, { error: 'hunter2' }),
      'the token endpoint refuses the exchange with HTTP 403',
    ],
    ['fails', answerWith(503, 'hunter2'), 'the token endpoint failed with HTTP 503'],
    ['answers with no JSON', answerWith(200, '<hunter2>'), "the token endpoint's answer is no JSON object"],
    ['answers with a list', answerWith(200, '["hunter2"]'), "the token endpoint's answer is no JSON object"],
    [
      'gives no access_token',
      answerWith(200, { token: 'hunter2', token_type: 'Bearer' }),
      "the token endpoint's answer has no access_token",
    ],
    [
      'gives a token with a line break',
      answerWith(200, { access_token: 'a\r\nX-Admin: true', token_type: 'Bearer' }),
      "the token endpoint's answer has an access_token that no header can carry",
    ],
    [
      'gives a token of another kind',
      answerWith(200, { access_token: 'hunter2', token_type: 'N_A' }),
      "the token endpoint's answer has a token_type that is not Bearer",
    ],
    [
      'gives a token that has expired',
      answerWith(200, { access_token: 'hunter2', token_type: 'bearer', expires_in: -1 }),
      "the token endpoint's answer has a token that has expired already",
    ],
    [
      'gives a life that is no number',
      answerWith(200, { access_token: 'hunter2', token_type: 'bearer', expires_in: 'hunter2' }),
      "the token endpoint's answer has an expires_in that is no number",
    ],
    [
      'redirects',
      answerWith(307, '', { location: 'http://127.0.0.1:1/hunter2' }),
      'of the token endpoint, the answer is a redirect, which is not followed',
    ],
    [
      'answers without end',
      answerWith(200, JSON.stringify({ access_token: 'x'.repeat(1_100_000) })),
      'of the token endpoint, the body of the answer is too large',
    ],
    ['breaks off', (response) => response.destroy(), 'the token endpoint could not be asked: no whole answer came'],
  ];
  for (const [what, behaviour, told] of failures)
    test(`a token endpoint that ${what} is an error of the call that says so, without secrets`, async () => {
      await start();
      const session = await openSession(gateway.running.url, {}, as('alice'));
      await session.toolNames();
      gateway.clock.advance(301_000);
      endpoint.instead = behaviour;
      const before = gateway.backend.requests.length;
      const refused = await session.call('a_echo');
      assert.equal(reasonOf(refused), 'credential_unavailable');
      assert.equal(resultText(refused), `no credential for backend "a" (token_exchange): ${told}`);
      assert.equal(gateway.backend.requests.slice(before).filter(({ method }) => method === 'tools/call').length, 0);
      const said = JSON.stringify([refused.text, gateway.lines]);
      assert.equal(
        /hunter2|X-Admin/.test(said) || said.includes(tokenOf(as('alice')).split(' ')[1] ?? ''),
        false,
        said,
      );
    });

  /** A session whose token for the backend has ended, while its lists are fresh. */
  const withEndedToken = async () => {
    await start();
    endpoint.lifeSeconds = 20;
    const session = await openSession(gateway.running.url, {}, as('alice'));
    await session.call('a_echo');
    await call('alice');
    gateway.clock.advance(30_000);
    return { session, asked: () => endpoint.exchanges.length > 1 || undefined };
  };

  test('a call that is cancelled while it waits for its token is never sent, and the backend is told nothing', async () => {
    const { session, asked } = await withEndedToken();
    const before = gateway.backend.requests.length;
    endpoint.instead = () => {};
    const params = { name: 'a_echo', arguments: { n: 1 } };
    const cancelled = session.send({ jsonrpc: '2.0', id: 77, method: 'tools/call', params });
    await until('the exchange', async () => asked(), SOON);
    await session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 77 } });
    assert.equal((await cancelled).text, '');
    endpoint.instead = undefined;
    assert.equal(resultText(await session.call('a_echo', { n: 2 })), 'echo {"n":2}');
    const sent = gateway.backend.requests
      .slice(before)
      .map(({ method, body }) => `${method} ${body.includes('"n":2')}`);
    assert.deepEqual(
      sent.filter((each) => /call|cancelled/.test(each)),
      ['tools/call true'],
    );
  });

  test('a token endpoint that does not answer in time is an error, and the next call asks again', async () => {
    const { session, asked } = await withEndedToken();
    endpoint.instead = () => {};
    const answer = session.call('a_echo');
    await until('the exchange', async () => asked(), SOON);
    gateway.clock.advance(10_000);
    assert.match(resultText(await answer), /the token endpoint could not be asked: no whole answer came in time$/);
    endpoint.instead = undefined;
    assert.equal(resultText(await session.call('a_echo')), 'echo {}');
  });
});

describe('what a file may say of token_exchange', () => {
  const reasons = (block: object): readonly string[] =>
    problemsOf({
      outgoingAuth: {
        source: 'inline',
        default: { type: 'token_exchange', tokenExchange: { tokenUrl: 'https://idp.example/token', ...block } },
      },
    }).map(({ path, reason }) => `${path}: ${reason}`);
  const at = 'outgoingAuth.default.tokenExchange';

  test('a header that the connection or MCP sets carries no token', () => {
    for (const externalTokenHeaderName of ['Host', 'Mcp-Session-Id', 'Content-Type', 'Vmcp-Relayed-Authorization'])
      assert.deepEqual(reasons({ externalTokenHeaderName }), [
        `${at}.externalTokenHeaderName: ${externalTokenHeaderName} belongs to the connection or to MCP`,
      ]);
    assert.deepEqual(reasons({ externalTokenHeaderName: 'X-Token' }), []);
  });

  test('a client secret without a client is refused, however it is written; a client without a secret is not', () => {
    for (const secret of [{ clientSecret: 'a' }, { clientSecretEnv: 'SECRET' }, { clientSecretFile: '/secret' }]) {
      assert.deepEqual(reasons(secret), [`${at}: a client secret without clientId authenticates no client`]);
      assert.deepEqual(reasons({ clientId: 'gateway', ...secret }), []);
    }
    assert.deepEqual(reasons({ clientId: 'public' }), []);
    assert.deepEqual(reasons({ clientId: '', clientSecret: '' }), [
      `${at}.clientId: must not be empty`,
      `${at}.clientSecret: must not be empty`,
    ]);
  });

  test('a misspelt type of token is refused, and any URI is none', () => {
    for (const subjectTokenType of ['acess_token', '', 'urn :x'])
      assert.deepEqual(reasons({ subjectTokenType }), [`${at}.subjectTokenType: not a token type`]);
    for (const subjectTokenType of ['jwt', `${URN}saml2`, 'https://idp.example/types/badge'])
      assert.deepEqual(reasons({ subjectTokenType }), []);
  });

  test('each scope is one word', () =>
    assert.deepEqual(reasons({ scopes: ['read', 'a b', '', 'api://x/.default'] }), [
      `${at}.scopes[1]: not a scope`,
      `${at}.scopes[2]: not a scope`,
    ]));

  test('a provider that no authorization server has is refused', () =>
    assert.deepEqual(reasons({ subjectProviderName: 'github' }), [
      `${at}.subjectProviderName: no upstream provider is called "github"`,
    ]));
});

describe('the exchange of one request', () => {
  const request = (onAbandoned: (abort: (reason: Error) => void) => void): BackendRequest => ({
    method: 'POST',
    path: '/mcp',
    headers: ['authorization', 'Bearer of another'],
    body: undefined,
    onMessage: () => 'other',
    idleTimeout: { ...neverIdle, onAbandoned },
  });
  const proving = (fetch: StrategyDeps['fetch']) =>
    connectStrategy(
      {
        type: 'token_exchange',
        tokenExchange: { tokenUrl: 'https://idp.example/token', subjectTokenType: 'jwt' },
      },
      strategyDeps({ fetch }),
    ).prove ?? assert.fail();
  const never = () => assert.fail('nothing is sent to the backend');

  test('is given up with the request, where no other waits for it', async () => {
    const asked = Promise.withResolvers<void>();
    const prove = proving(({ signal }) => {
      asked.resolve();
      return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    });
    let abandon: (reason: Error) => void = never;
    const sent = prove(() => userOf('alice'))(never)(request((abort) => (abandon = abort)));
    await asked.promise;
    abandon(new VmcpError('cancelled', 'given up'));
    await assert.rejects(sent, /given up/);
  });

  test('has no token to exchange for a caller who has not signed in', async () => {
    const prove = proving(never);
    for (const caller of [{ kind: 'anonymous' } as const, userOf('local', { token: '' })])
      await assert.rejects(prove(() => caller)(never)(request(() => {})), hasCode('credential_unavailable'));
  });

  covers('outgoing.token-exchange.subject-upstream', 'outgoing-auth.token-exchange.subject-provider');
  test('shows the token of the upstream provider that the configuration names', async () => {
    const forms: URLSearchParams[] = [];
    const { prove = assert.fail() } = connectStrategy(
      {
        type: 'token_exchange',
        tokenExchange: {
          tokenUrl: 'https://idp.example/token',
          subjectTokenType: 'access_token',
          subjectProviderName: 'github',
        },
      },
      strategyDeps({
        fetch: async ({ body }) => {
          forms.push(new URLSearchParams(String(body)));
          return { status: 200, headers: {}, body: Buffer.from('{"access_token":"x","token_type":"bearer"}') };
        },
      }),
    );
    const upstream = new Map([['github', 'of alice at github']]);
    const uses: object[] = [];
    const alice = userOf('alice', {
      upstreamToken: async (provider, use) => (uses.push(use), upstream.get(provider)),
    });
    const sent: BackendRequest[] = [];
    const next = async (each: BackendRequest) => {
      sent.push(each);
      return { status: 200, headers: {}, body: Buffer.alloc(0) };
    };
    await prove(() => alice)(next)(request(() => {}));
    assert.equal(forms[0]?.get('subject_token'), 'of alice at github');
    assert.deepEqual(uses, [{ backend: 'a', recipients: ['https://a.example', 'https://idp.example'] }]);
    assert.deepEqual(sent[0]?.headers, ['authorization', 'Bearer x'], 'in place of any other');
    upstream.clear();
    await assert.rejects(prove(() => alice)(never)(request(() => {})), (error) => {
      assert.ok(error instanceof VmcpError && hasCode('login_required')(error));
      assert.deepEqual(error.challenge, { error: 'insufficient_scope', scope: 'upstream:github' });
      return true;
    });
  });
});
