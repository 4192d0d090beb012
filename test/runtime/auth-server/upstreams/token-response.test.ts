import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { Upstream, UpstreamTokens } from '../../../../runtime/auth-server/upstreams/index.ts';
import type { GuardedClient } from '../../../../runtime/http/index.ts';
import { json, type OAuth2Server, sentBack, startOAuth2Server } from '../../../fixtures/oauth2-server.ts';
import { failsAs, newUpstreamRequest, upstreamClient, upstreamOf } from '../../../fixtures/upstreams.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';
import { covers } from '../../../requirements.ts';

let server: OAuth2Server;
let http: GuardedClient;
const clock = frozenClock();

before(async () => {
  server = await startOAuth2Server();
  http = upstreamClient();
});

afterEach(() => server.paths.clear());

after(async () => {
  await http.close();
  await server.close();
});

const upstream = (tokenResponseMapping?: object): Upstream =>
  upstreamOf(
    {
      type: 'oauth2',
      oauth2Config: {
        authorizationEndpoint: `${server.origin}/authorize`,
        tokenEndpoint: `${server.origin}/token`,
        clientId: 'vmcp',
        ...(tokenResponseMapping && { tokenResponseMapping }),
      },
    },
    http,
    { clock },
  );

const tokensFrom = async (response: unknown, mapping?: object): Promise<UpstreamTokens> => {
  server.paths.set('/token', json(response));
  const of = upstream(mapping);
  const upstreamRequest = newUpstreamRequest();
  return (await of.redeem(sentBack(await of.authorizationUrl(upstreamRequest)), upstreamRequest)).tokens;
};

const in300s = () => clock.now() + 300_000;

covers(
  'authserver.upstream.token-mapping.access-path',
  'authserver.upstream.token-mapping.refresh-set',
  'authserver.upstream.token-mapping.scope-set',
  'authserver.upstream.token-mapping.expires-set',
  'authserver.upstream.token-mapping.own-call',
);
test('with tokenResponseMapping all parts are taken from where it says, at sign-in and at refresh', async () => {
  const response = {
    ok: true,
    access_token: 'of the bot',
    refresh_token: 'of the bot',
    token_type: 'bot',
    data: { token: 'at-1', again: 'rt-1', granted: 'chat:write', seconds: 300 },
  };
  const mapping = {
    accessTokenPath: 'data.token',
    refreshTokenPath: 'data.again',
    scopePath: 'data.granted',
    expiresInPath: 'data.seconds',
  };
  const expected = { accessToken: 'at-1', refreshToken: 'rt-1', scope: 'chat:write', expiresAt: in300s() };
  assert.deepEqual(await tokensFrom(response, mapping), expected);
  assert.deepEqual(await upstream(mapping).refresh('rt-0'), expected);
});

covers(
  'authserver.upstream.token-mapping.refresh-default',
  'authserver.upstream.token-mapping.scope-default',
  'authserver.upstream.token-mapping.expires-default',
);
test('parts that the mapping does not name are where the standard has them', async () => {
  const response = { data: { token: 'at-1' }, refresh_token: 'rt-1', scope: 'read', expires_in: 300 };
  assert.deepEqual(await tokensFrom(response, { accessTokenPath: 'data.token' }), {
    accessToken: 'at-1',
    refreshToken: 'rt-1',
    scope: 'read',
    expiresAt: in300s(),
  });
});

covers('authserver.upstream.token-mapping.absent');
test('without a mapping only a standard response is taken', async () => {
  await assert.rejects(tokensFrom({ data: { token: 'at-1' } }), failsAs('unavailable', 'invalid_response'));
  assert.deepEqual(await tokensFrom({ access_token: 'at-1', token_type: 'Bearer' }), { accessToken: 'at-1' });
});

test('a response whose mapped path leads nowhere signs nobody in, though it has a standard token of something else', async () => {
  await assert.rejects(
    tokensFrom({ access_token: 'of the bot', token_type: 'bearer' }, { accessTokenPath: 'authed_user.access_token' }),
    failsAs('unavailable', 'invalid_response'),
  );
});

const lives: readonly (readonly [unknown, number | undefined])[] = [
  [300, 300],
  ['300', 300],
  ['300.5', 300.5],
  [1e12, 366 * 86_400],
  [undefined, undefined],
  [null, undefined],
  [0, undefined],
  [-1, undefined],
  ['soon', undefined],
  [{}, undefined],
];
for (const [life, seconds] of lives)
  test(`expires_in ${JSON.stringify(life)} is ${seconds === undefined ? 'not said' : `${seconds} s`}`, async () => {
    const { expiresAt } = await tokensFrom({ access_token: 'at-1', token_type: 'bearer', expires_in: life });
    assert.equal(expiresAt, seconds === undefined ? undefined : clock.now() + seconds * 1_000);
  });

test('a token that is none is not taken', async () => {
  for (const token of ['', 7, null, {}, 'with space', 'line\nbreak', 'x'.repeat(16 * 1024 + 1)])
    await assert.rejects(
      tokensFrom({ access_token: token, token_type: 'bearer' }),
      failsAs('unavailable', 'invalid_response'),
    );
  await assert.rejects(
    tokensFrom({ access_token: 'at-1', token_type: 'DPoP' }),
    failsAs('unavailable', 'invalid_response'),
  );
});
