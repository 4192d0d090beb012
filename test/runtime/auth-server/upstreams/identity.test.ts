import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { Identity, Upstream } from '../../../../runtime/auth-server/upstreams/index.ts';
import type { GuardedClient } from '../../../../runtime/http/index.ts';
import { noCertificates, testCertificates } from '../../../fixtures/certificates.ts';
import {
  type Answer,
  json,
  type OAuth2Server,
  sentBack,
  startOAuth2Server,
  text,
} from '../../../fixtures/oauth2-server.ts';
import { failsAs, newUpstreamRequest, upstreamClient, upstreamOf } from '../../../fixtures/upstreams.ts';
import { covers } from '../../../requirements.ts';

const TOKENS = { access_token: 'at-1', token_type: 'Bearer' };

let server: OAuth2Server;
let http: GuardedClient;

before(async () => {
  server = await startOAuth2Server();
  http = upstreamClient();
});

afterEach(() => server.paths.clear());

after(async () => {
  await http.close();
  await server.close();
});

const upstream = (config: object, at = server.origin, client = http): Upstream =>
  upstreamOf(
    {
      type: 'oauth2',
      oauth2Config: {
        authorizationEndpoint: `${at}/authorize`,
        tokenEndpoint: `${at}/token`,
        clientId: 'vmcp',
        ...config,
      },
    },
    client,
  );

const identified = async (of: Upstream): Promise<Identity> => {
  const upstreamRequest = newUpstreamRequest();
  const { identity } = await of.redeem(sentBack(await of.authorizationUrl(upstreamRequest)), upstreamRequest);
  return identity;
};

const withUserInfo = (config: object, answer: Answer): Upstream => {
  server.paths.set('/token', json(TOKENS)).set('/me', answer);
  return upstream({ userInfo: { endpointUrl: `${server.origin}/me`, ...config } });
};

const last = (path: string) => server.receivedAt(path).at(-1) ?? assert.fail(`nothing was asked at ${path}`);

covers(
  'authserver.upstream.oauth2.userinfo-used',
  'authserver.upstream.userinfo.method-default',
  'authserver.upstream.userinfo.subject-fields-default',
  'authserver.upstream.userinfo.name-fields-default',
  'authserver.upstream.userinfo.email-fields-default',
);
test('the user is whom the userinfo endpoint names for the access token', async () => {
  const answer = json({ sub: 'u-1', name: 'Alice', email: 'alice@example.org', picture: 'x' });
  assert.deepEqual(await identified(withUserInfo({}, answer)), {
    subject: 'u-1',
    name: 'Alice',
    email: 'alice@example.org',
  });
  const { method, headers } = last('/me');
  assert.deepEqual({ method, authorization: headers.authorization }, { method: 'GET', authorization: 'Bearer at-1' });
});

covers('authserver.upstream.userinfo.method-post', 'authserver.upstream.userinfo.additional-headers');
test('the userinfo request has the configured method and headers, and the access token in any case', async () => {
  const additionalHeaders = { Accept: 'application/vnd.github+json', 'X-Api-Version': '7', Authorization: 'Basic x' };
  await identified(withUserInfo({ httpMethod: 'POST', additionalHeaders }, json({ sub: 'u-1' })));
  const { method, headers, body } = last('/me');
  assert.deepEqual(
    { method, body, accept: headers.accept, version: headers['x-api-version'], authorization: headers.authorization },
    { method: 'POST', body: '', accept: 'application/vnd.github+json', version: '7', authorization: 'Bearer at-1' },
  );
});

covers('authserver.upstream.userinfo.fields-first-non-empty');
test('of the mapped fields the first one that is not empty wins', async () => {
  const fieldMapping = {
    subjectFields: ['id', 'login'],
    nameFields: ['name', 'login'],
    emailFields: ['email', 'mails.0.value'],
  };
  const of = (answer: object) => identified(withUserInfo({ fieldMapping }, json(answer)));
  assert.deepEqual(await of({ id: '', login: 'alice', name: null, mails: [{ value: 'a@x' }] }), {
    subject: 'alice',
    name: 'alice',
    email: 'a@x',
  });
  assert.deepEqual(await of({ id: 583231, login: 'octocat', name: 'Mona' }), { subject: '583231', name: 'Mona' });
  assert.deepEqual(await of({ id: 0, name: { first: 'A' }, email: ['a@x'] }), { subject: '0' });
});

test('ids of two users stay different where a double would make them one', async () => {
  const of = (id: string) => identified(withUserInfo({}, text(`{"sub":${id}}`, 200, 'application/json')));
  assert.equal((await of('9007199254740993')).subject, '9007199254740993');
  assert.equal((await of('9007199254740992')).subject, '9007199254740992');
});

test('an answer without a subject signs nobody in', async () => {
  for (const answer of [{}, { sub: '' }, { sub: null }, { sub: true }, { sub: { id: 1 } }, { sub: 'x'.repeat(1_025) }])
    await assert.rejects(identified(withUserInfo({}, json(answer))), failsAs('refused', 'no_subject'));
});

test('a userinfo endpoint that refuses the token refuses the sign-in', async () => {
  const challenge = { 'www-authenticate': 'Bearer error="insufficient_scope"' };
  await assert.rejects(
    identified(withUserInfo({}, json({}, 403, challenge))),
    failsAs('refused', 'insufficient_scope'),
  );
  await assert.rejects(identified(withUserInfo({}, json({}, 401))), failsAs('refused', 'userinfo_refused'));
});

test('an address that the provider has not verified is left out, and one that it has is told as such', async () => {
  const of = (stated: unknown) =>
    identified(withUserInfo({}, json({ sub: 'u-1', email: 'ceo@corp.example', email_verified: stated })));
  for (const no of [false, 'false']) assert.deepEqual(await of(no), { subject: 'u-1' });
  const email = 'ceo@corp.example';
  for (const yes of [true, 'true']) assert.deepEqual(await of(yes), { subject: 'u-1', email, emailVerified: true });
  for (const nothing of [undefined, null, 1]) assert.deepEqual(await of(nothing), { subject: 'u-1', email });
});

covers(
  'authserver.upstream.synthesized-subject',
  'authserver.upstream.synthesized-no-name',
  'authserver.upstream.synthesized-no-email',
);
test('where nothing says who the user is, the subject stands for the access token and tells nothing about it', async () => {
  const token = 'secret-access-token';
  server.paths.set('/token', json({ ...TOKENS, access_token: token, name: 'Alice', email: 'a@x', sub: 'u-1' }));
  const first = await identified(upstream({}));
  assert.deepEqual(Object.keys(first), ['subject']);
  assert.match(first.subject, /^token-[\w-]{43}$/);
  assert.ok(!first.subject.includes(token) && !first.subject.includes('u-1'));
  server.paths.set('/token', json({ ...TOKENS, access_token: 'another' }));
  assert.notEqual((await identified(upstream({}))).subject, first.subject);
});

covers(
  'authserver.upstream.identity-from-token.dot-notation',
  'authserver.upstream.identity-from-token.skips-userinfo',
);
test('the identity is taken from the token response by paths, and then no userinfo endpoint is asked', async () => {
  server.paths.set(
    '/token',
    json({ ...TOKENS, authed_user: { id: 'U1', profile: { name: 'Alice' } }, mails: ['a@x'] }),
  );
  const identityFromToken = {
    subjectPath: 'authed_user.id',
    namePath: 'authed_user.profile.name',
    emailPath: 'mails.0',
  };
  const userInfo = { endpointUrl: `${server.origin}/me` };
  const before = server.receivedAt('/me').length;
  assert.deepEqual(await identified(upstream({ identityFromToken, userInfo })), {
    subject: 'U1',
    name: 'Alice',
    email: 'a@x',
  });
  assert.equal(server.receivedAt('/me').length, before);
});

covers('authserver.upstream.identity-from-token.unresolved-omitted');
test('a name or an address that is no text is left out; without a subject nobody is signed in', async () => {
  server.paths.set('/token', json({ ...TOKENS, user: { id: 'U1', name: { first: 'A' } } }));
  const paths = { subjectPath: 'user.id', namePath: 'user.name', emailPath: 'user.mail.value' };
  assert.deepEqual(await identified(upstream({ identityFromToken: paths })), { subject: 'U1' });
  await assert.rejects(
    identified(upstream({ identityFromToken: { ...paths, subjectPath: 'user.sub' } })),
    failsAs('refused', 'no_subject'),
  );
});

const jwt = (claims: object): string =>
  ['e30', Buffer.from(JSON.stringify(claims)).toString('base64url'), 'bm90LWEtc2lnbmF0dXJl'].join('.');

covers(
  'authserver.upstream.identity-from-token.upstreamjwt',
  'authserver.upstream.identity-from-token.upstreamjwt-unverified',
);
test('@upstreamjwt reads claims of a token of the response, whatever its signature', async () => {
  server.paths.set('/token', json({ ...TOKENS, access_token: jwt({ sub: 'u-7', 'https://x.example/name': 'Alice' }) }));
  const identityFromToken = {
    subjectPath: 'access_token|@upstreamjwt|sub',
    namePath: String.raw`access_token.@upstreamjwt.https://x\.example/name`,
  };
  assert.deepEqual(await identified(upstream({ identityFromToken })), { subject: 'u-7', name: 'Alice' });
});

covers('authserver.upstream.identity-from-token.tls-trust');
test(
  'no identity is taken from a token endpoint whose certificate does not verify',
  { skip: noCertificates },
  async () => {
    const [trusted, other] = await Promise.all([testCertificates(), testCertificates()]);
    const secure = await startOAuth2Server(trusted);
    secure.paths.set('/token', json({ ...TOKENS, sub: 'u-1' }));
    const identityFromToken = { subjectPath: 'sub' };
    const [trusting, wary] = [upstreamClient(trusted.caFile), upstreamClient(other.caFile)];
    try {
      assert.deepEqual(await identified(upstream({ identityFromToken }, secure.origin, trusting)), { subject: 'u-1' });
      const before = secure.received.length;
      await assert.rejects(
        identified(upstream({ identityFromToken }, secure.origin, wary)),
        failsAs('unavailable', 'network_error'),
      );
      assert.equal(secure.received.length, before);
    } finally {
      await Promise.all([trusting, wary].map((client) => client.close()));
      await secure.close();
      await Promise.all([trusted, other].map((each) => each.remove()));
    }
  },
);
