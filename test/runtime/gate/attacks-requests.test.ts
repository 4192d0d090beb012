import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { authenticationMetrics } from '../../../runtime/gate/authenticate/authentication-metrics.ts';
import { issuerVerifiers } from '../../../runtime/gate/authenticate/issuer-verifier.ts';
import { tokenVerifier } from '../../../runtime/gate/authenticate/verify-token.ts';
import { guardedFetch } from '../../../runtime/http/index.ts';
import { createMetrics } from '../../../runtime/observe/index.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { resolvesTo } from '../../fixtures/guarded-fetch.ts';
import { AUDIENCE, sendJson } from '../../fixtures/identity-provider.ts';
import { memoryLog } from '../../fixtures/memory-log.ts';
import { type ProtectedGateway, startProtected } from '../../fixtures/protected-gateway.ts';
import { INITIALIZE, openSession, post } from '../../fixtures/raw-client.ts';
import { postText, sendRaw, statusIn } from '../../fixtures/raw-http.ts';

const BODY = JSON.stringify(INITIALIZE);
const USUAL = ['Content-Type: application/json', 'Accept: application/json, text/event-stream'];

suite('attacks with requests', () => {
  let gateway: ProtectedGateway;
  let good: string;
  before(async () => {
    gateway = await startProtected();
    good = await gateway.provider.token();
  });
  after(() => gateway.stop());

  const raw = async (lines: readonly string[], body = BODY): Promise<number> =>
    statusIn(await sendRaw(gateway.running.url, postText([...USUAL, ...lines], body)));
  const length = `Content-Length: ${BODY.length}`;

  test('the same request without an attack is answered', async () => {
    assert.equal(await raw(['Host: localhost', length, `Authorization: Bearer ${good}`]), 200);
    assert.equal(await raw(['Host: localhost', length, `authorization: bEARER ${good}`]), 200);
  });

  const REFUSED: readonly (readonly [string, (token: string) => readonly string[], number])[] = [
    ['no token', () => ['Host: localhost', length], 401],
    [
      'two Authorization headers, the good one first',
      (token) => ['Host: localhost', length, `Authorization: Bearer ${token}`, 'Authorization: Bearer other'],
      401,
    ],
    [
      'two Authorization headers, the good one last',
      (token) => ['Host: localhost', length, 'Authorization: Bearer other', `Authorization: Bearer ${token}`],
      401,
    ],
    [
      'two Authorization headers of two schemes',
      (token) => ['Host: localhost', length, 'Authorization: Basic YTpi', `Authorization: Bearer ${token}`],
      401,
    ],
    [
      'the token twice',
      (token) => ['Host: localhost', length, `Authorization: Bearer ${token}`, `Authorization: Bearer ${token}`],
      401,
    ],
    ['a list of tokens', (token) => ['Host: localhost', length, `Authorization: Bearer ${token}, Bearer other`], 401],
    ['the token in another scheme', (token) => ['Host: localhost', length, `Authorization: Token ${token}`], 401],
    ['the token as DPoP', (token) => ['Host: localhost', length, `Authorization: DPoP ${token}`], 401],
    ['the token without a scheme', (token) => ['Host: localhost', length, `Authorization: ${token}`], 401],
    ['the token in a cookie', (token) => ['Host: localhost', length, `Cookie: access_token=${token}`], 401],
    [
      'the token in a header of proxies',
      (token) => [
        'Host: localhost',
        length,
        `X-Forwarded-Access-Token: ${token}`,
        `Proxy-Authorization: Bearer ${token}`,
      ],
      401,
    ],
    [
      'a user named by a header',
      () => ['Host: localhost', length, 'X-Forwarded-User: alice', 'X-User: alice', 'Remote-User: alice'],
      401,
    ],
    [
      'a header that goes on in the next line',
      (token) => ['Host: localhost', length, 'Authorization: Bearer', ` ${token}`],
      400,
    ],
    ['a space before the colon', (token) => ['Host: localhost', length, `Authorization : Bearer ${token}`], 400],
    ['two Hosts', (token) => ['Host: localhost', 'Host: evil.example', length, `Authorization: Bearer ${token}`], 403],
    ['a Host that was rebound', (token) => ['Host: evil.example', length, `Authorization: Bearer ${token}`], 403],
    [
      'a Host that begins like an address',
      (token) => ['Host: 127.0.0.1.evil.example', length, `Authorization: Bearer ${token}`],
      403,
    ],
    [
      'an Origin that was rebound',
      (token) => ['Host: localhost', 'Origin: https://evil.example', length, `Authorization: Bearer ${token}`],
      403,
    ],
    [
      'an Origin without a name',
      (token) => ['Host: localhost', 'Origin: null', length, `Authorization: Bearer ${token}`],
      403,
    ],
    ['two lengths', (token) => ['Host: localhost', length, 'Content-Length: 3', `Authorization: Bearer ${token}`], 400],
    [
      'a length and chunks',
      (token) => ['Host: localhost', length, 'Transfer-Encoding: chunked', `Authorization: Bearer ${token}`],
      400,
    ],
    [
      'chunks by another name',
      (token) => ['Host: localhost', 'Transfer-Encoding: xchunked', `Authorization: Bearer ${token}`],
      400,
    ],
    [
      'two media types',
      (token) => ['Host: localhost', length, 'Content-Type: text/plain', `Authorization: Bearer ${token}`],
      415,
    ],
  ];
  for (const [what, linesOf, status] of REFUSED) test(what, async () => assert.equal(await raw(linesOf(good)), status));

  test('the token in the query', async () => {
    for (const query of [`access_token=${good}`, `token=${good}`]) {
      const { status, text } = await post(`${gateway.running.url}?${query}`, BODY);
      assert.equal(status, 401);
      assert.doesNotMatch(text + JSON.stringify(gateway.lines), new RegExp(good.slice(-20)));
    }
  });

  test('the token in the body', async () => {
    const form = await post(gateway.running.url, `access_token=${good}`, {
      'content-type': 'application/x-www-form-urlencoded',
    });
    assert.equal(form.status, 415);
    const meta = { ...INITIALIZE, params: { ...INITIALIZE.params, _meta: { authorization: `Bearer ${good}` } } };
    assert.equal((await post(gateway.running.url, meta)).status, 401);
  });

  test('a stolen session id, without a token and with that of somebody else', async () => {
    const session = await openSession(gateway.running.url, {}, { authorization: `Bearer ${good}` });
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    assert.equal((await session.send(list, { authorization: '' })).status, 401);
    const mallory = { authorization: `Bearer ${await gateway.provider.token({ sub: 'mallory' })}` };
    assert.equal((await session.send(list, mallory)).status, 404);
    const ended = await fetch(gateway.running.url, {
      method: 'DELETE',
      headers: { 'mcp-session-id': session.id, ...mallory },
    });
    assert.equal(ended.status, 404);
    assert.equal((await session.request('tools/list')).status, 200);
  });

  test('a body without a token is not waited for', async () => {
    const lines = ['Host: localhost', 'Content-Length: 4000000'];
    assert.equal(await raw(lines, '{'), 401);
    assert.equal(await raw(['Host: localhost', 'Transfer-Encoding: chunked'], '1\r\n{\r\n'), 401);
  });

  test('large bodies without a token take no room: together they are more than all bodies may be', async () => {
    const piece = Buffer.alloc(3_900_000, 0x20);
    const head = postText([...USUAL, 'Host: localhost', `Content-Length: ${piece.length}`], '');
    const answers = await Promise.all(Array.from({ length: 20 }, () => sendRaw(gateway.running.url, head, piece)));
    assert.deepEqual([...new Set(answers.map(statusIn))], [401]);
  });

  test('JSON that would be expensive to read, without a token and with one', async () => {
    const bomb = `{"a":${'['.repeat(60_000)}`;
    assert.equal((await post(gateway.running.url, bomb)).status, 401);
    assert.equal((await post(gateway.running.url, bomb, { authorization: `Bearer ${good}` })).status, 400);
  });
});

suite('attacks on the way to the issuer', () => {
  test('a redirect of keys, metadata or introspection to where the attacker wants is not followed', async () => {
    const gateway = await startProtected({
      oidc: ({ introspectionUrl }) => ({ introspectionUrl, clientSecretEnv: 'SECRET' }),
      deps: { environment: () => 'x' },
    });
    await gateway.enter(await gateway.provider.token());
    const { provider, clock } = gateway;
    for (const path of ['/.well-known/openid-configuration', '/jwks', '/introspect'])
      provider.instead.set(path, (_request, response) =>
        response.writeHead(302, { location: `${provider.origin}/taken` }).end(),
      );
    clock.advance(60_000);
    assert.equal((await gateway.enter(await provider.token({}, { header: { kid: 'new' } }))).status, 401);
    assert.equal((await gateway.enter('opaque')).status, 503);
    assert.equal(provider.count('/taken'), 0);
    await gateway.stop();
  });

  for (const jwks_uri of [
    'http://169.254.169.254/latest/meta-data',
    'http://[fd00:ec2::254]/',
    'file:///etc/passwd',
    'http://user:pass@127.0.0.1/',
    'gopher://127.0.0.1/',
  ])
    test(`metadata that sends for keys to ${jwks_uri}`, async () => {
      const gateway = await startProtected({ oidc: {} });
      await gateway.enter(await gateway.provider.token());
      const { provider, clock } = gateway;
      provider.instead.set('/.well-known/openid-configuration', (_request, response) =>
        sendJson(response, 200, { ...provider.metadata(), jwks_uri }),
      );
      clock.advance(60_000);
      assert.equal((await gateway.enter(await provider.token({}, { header: { kid: 'new' } }))).status, 401);
      assert.match(JSON.stringify(gateway.lines), /must not be fetched from|no absolute http/);
      await gateway.stop();
    });

  for (const [what, answers] of [
    ['leads to a private address', [['10.0.0.1']]],
    ['leads to loopback', [['127.0.0.1']]],
    ['leads to a public address and to a private one', [['93.184.216.34', '127.0.0.1']]],
    ['leads to an address of the metadata service', [['169.254.169.254']]],
  ] as const)
    test(`the name of an issuer ${what}: the address that was checked is the one that is used`, async () => {
      const clock = frozenClock();
      const { resolve, names } = resolvesTo(...answers);
      const { log, lines } = memoryLog();
      const verifier = tokenVerifier(
        [
          {
            issuer: 'https://idp.example',
            audiences: [AUDIENCE],
            issuerKeys: undefined,
            jwksUrl: 'https://idp.example/jwks',
            jwksAllowPrivateIp: false,
            insecureAllowHttp: false,
            caBundlePath: undefined,
            scopes: [],
            claimMapping: {},
            introspection: undefined,
          },
        ],
        {
          now: clock.now,
          takeVerifier: issuerVerifiers({
            now: clock.now,
            log,
            readSecret: async () => undefined,
            fetchUnder: (policy) => guardedFetch(policy, { clock, resolve }),
            metrics: authenticationMetrics(createMetrics().meter, clock.now),
            onKeysChanged: () => {},
          }),
        },
      );
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const token = `${part({ alg: 'ES256' })}.${part({ iss: 'https://idp.example' })}.x`;
      await assert.rejects(verifier.verify(token), { code: 'issuer_unavailable' });
      assert.deepEqual(names, ['idp.example']);
      assert.match(JSON.stringify(lines), /must not be fetched from/);
      await verifier.close();
    });
});
