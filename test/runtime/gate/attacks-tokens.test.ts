import assert from 'node:assert/strict';
import { createHmac, createSign, type KeyObject, KeyObject as Keys } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { AUDIENCE, type IdentityProvider, signingKey } from '../../fixtures/identity-provider.ts';
import { type ProtectedGateway, startProtected } from '../../fixtures/protected-gateway.ts';

type Make = (provider: IdentityProvider) => string | Promise<string>;

const encoded = (value: object | string | Buffer): string =>
  Buffer.from(Buffer.isBuffer(value) || typeof value === 'string' ? value : JSON.stringify(value)).toString(
    'base64url',
  );

const claimsOf = ({ issuer }: IdentityProvider, more: object = {}) => ({
  iss: issuer,
  aud: AUDIENCE,
  sub: 'alice',
  exp: 2_000_000_000,
  ...more,
});

const privateKeyOf = (provider: IdentityProvider): KeyObject => Keys.from(provider.key().privateKey);

/** A JWS over exactly these texts, signed with the issuer's own key. */
const signedText = (provider: IdentityProvider, header: string, payload: string | Buffer): string => {
  const input = `${encoded(header)}.${encoded(payload)}`;
  const signature = createSign('sha256')
    .update(input)
    .sign({ key: privateKeyOf(provider), dsaEncoding: 'ieee-p1363' });
  return `${input}.${signature.toString('base64url')}`;
};

const HEADER = '{"alg":"ES256","kid":"key-1"}';

const headed =
  (header: object): Make =>
  (provider) =>
    provider.token({}, { header: { ...header } });
const claiming =
  (claims: Record<string, unknown>): Make =>
  (provider) =>
    provider.token(claims);

/** Parts of a good token, put together anew. */
const forged =
  (change: (parts: readonly [string, string, string]) => readonly string[]): Make =>
  async (provider) =>
    change((await provider.token()).split('.') as [string, string, string]).join('.');

const unsigned =
  (alg: string): Make =>
  (provider) =>
    `${encoded({ alg })}.${encoded(claimsOf(provider))}.`;

const hmacWith =
  (secretOf: (provider: IdentityProvider) => string | Buffer): Make =>
  (provider) => {
    const input = `${encoded({ alg: 'HS256', kid: 'key-1' })}.${encoded(claimsOf(provider))}`;
    return `${input}.${createHmac('sha256', secretOf(provider)).update(input).digest('base64url')}`;
  };

const withPayload =
  (payloadOf: (text: string) => string | Buffer): Make =>
  (provider) =>
    signedText(provider, HEADER, payloadOf(JSON.stringify(claimsOf(provider))));

const ATTACKS: readonly (readonly [string, Make, RegExp?])[] = [
  ['token of another issuer', claiming({ iss: 'https://evil.example' }), /another issuer/],
  ['several issuers', claiming({ iss: ['https://evil.example'] }), /another issuer/],
  ['token for another server of the same issuer', claiming({ aud: 'https://other-mcp.example' }), /another audience/],
  ['audience that contains ours', claiming({ aud: `${AUDIENCE}.evil` }), /another audience/],
  ['audience as an object', claiming({ aud: { [AUDIENCE]: true } }), /another audience/],
  ['expired', claiming({ exp: 1 }), /expired/],
  ['not yet valid', claiming({ nbf: 1_999_999_999 }), /not valid yet/],
  ['expiry as a text', claiming({ exp: '2000000000' })],
  ['alg none', unsigned('none')],
  ['alg None', unsigned('None')],
  ['alg none with a signature', headedText('{"alg":"none","kid":"key-1"}')],
  ['HMAC with the public key as JSON', hmacWith((provider) => JSON.stringify(provider.key().publicJwk))],
  [
    'HMAC with the public key as bytes',
    hmacWith((provider) => Buffer.from(String(provider.key().publicJwk.x), 'base64url')),
  ],
  ['HMAC with an empty secret', hmacWith(() => '')],
  ['another algorithm in the header', headedText('{"alg":"RS256","kid":"key-1"}')],
  ['an algorithm that does not exist', headedText('{"alg":"ES256K","kid":"key-1"}')],
  ['crit that is not understood', headed({ crit: ['urn:example:unknown'], 'urn:example:unknown': 1 })],
  ['crit b64: payload that is not encoded', headedText('{"alg":"ES256","kid":"key-1","b64":false,"crit":["b64"]}')],
  ['an empty crit', headedText('{"alg":"ES256","kid":"key-1","crit":[]}')],
  ['kid of no key of the issuer', headed({ kid: 'key-9' }), /does not publish/],
  ['kid that is a path', headed({ kid: '../../../../dev/null' })],
  ['kid that is a query', headed({ kid: "x' UNION SELECT 'key" })],
  ['kid that is a member of every object', headed({ kid: '__proto__' })],
  ['kid that is an object', headedText('{"alg":"ES256","kid":{"a":1}}')],
  ['jwk of the attacker', byStranger((stranger) => ({ jwk: stranger.publicJwk }))],
  ['jku of the attacker', byStranger(() => ({ jku: 'https://evil.example/jwks' }))],
  ['x5u of the attacker', byStranger(() => ({ x5u: 'https://evil.example/cert' }))],
  ['x5c of the attacker', byStranger(() => ({ x5c: ['MIIB'] }))],
  ['the key id of the issuer with the key of the attacker', byStranger(() => ({})), /signature/],
  ['no signature', forged(([header, payload]) => [header, payload, ''])],
  ['a signature of zeros', forged(([header, payload]) => [header, payload, encoded(Buffer.alloc(64))]), /signature/],
  ['a signature that is cut', forged(([header, payload, signature]) => [header, payload, signature.slice(0, -4)])],
  [
    'claims under the signature of others',
    async (provider) => {
      const [header, , signature] = (await provider.token()).split('.');
      return [header, encoded(claimsOf(provider, { sub: 'admin' })), signature].join('.');
    },
    /signature/,
  ],
  ['a subject twice', withPayload((text) => text.replace('{', '{"sub":"admin",')), /malformed/],
  ['an audience twice', withPayload((text) => text.replace('{', '{"aud":"https://evil.example",')), /malformed/],
  [
    'a claim twice, once escaped',
    withPayload((text) => text.replace('{', String.raw`{"\u0073ub":"admin",`)),
    /malformed/,
  ],
  [
    'a claim twice further inside',
    withPayload((text) => text.replace('{', '{"realm":{"roles":[],"roles":["admin"]},')),
    /malformed/,
  ],
  [
    'an algorithm twice',
    (provider) =>
      signedText(provider, '{"alg":"none","alg":"ES256","kid":"key-1"}', JSON.stringify(claimsOf(provider))),
    /malformed/,
  ],
  ['claims that are no JSON', withPayload((text) => text.slice(1)), /malformed/],
  ['claims that are a list', withPayload((text) => `[${text}]`), /malformed/],
  ['claims in bytes that are no text', withPayload((text) => Buffer.from(text.replace('alice', 'é'), 'latin1'))],
  [
    'claims that are nested without end',
    withPayload((text) => text.replace('{', `{"x":${'['.repeat(2_000)}${']'.repeat(2_000)},`)),
    /malformed/,
  ],
  ['something behind the claims', withPayload((text) => `${text}{}`), /malformed/],
  ['an ID token', claiming({ at_hash: 'x' }), /no access token/],
  ['a logout token', headed({ typ: 'logout+jwt' }), /no access token/],
  ['a refresh token', claiming({ typ: 'Refresh' }), /no access token/],
  ['a token that is bound to a key', claiming({ cnf: { jkt: 'x' } }), /bound to a key/],
  ['no subject', claiming({ sub: undefined }), /no subject/],
  ['an encrypted token', () => ['a', 'b', 'c', 'd', 'e'].map((part) => encoded({ alg: 'dir', part })).join('.')],
  ['a token in JSON form', () => encoded({ payload: 'x', signatures: [] })],
  ['a token of 13 KiB', () => 'a'.repeat(13 * 1024)],
  ['a token with spaces', () => 'a b'],
  ['a token with a comma', () => 'a,b'],
  ['an empty token', () => ''],
];

function headedText(header: string): Make {
  return (provider) => signedText(provider, header, JSON.stringify(claimsOf(provider)));
}

function byStranger(headerOf: (stranger: Awaited<ReturnType<typeof signingKey>>) => object): Make {
  return async (provider) => {
    const stranger = await signingKey('key-1');
    return provider.token({}, { key: stranger, header: { ...headerOf(stranger) } });
  };
}

suite('attacks with tokens: each is refused with 401, before anything of the call is read', () => {
  let gateway: ProtectedGateway;
  before(async () => {
    gateway = await startProtected({
      oidc: ({ introspectionUrl }) => ({ introspectionUrl, clientSecretEnv: 'SECRET' }),
      deps: { environment: () => 's3cr3t:/ü' },
    });
    assert.equal(
      (await gateway.enter(signedText(gateway.provider, HEADER, JSON.stringify(claimsOf(gateway.provider))))).status,
      200,
    );
  });
  after(() => gateway.stop());

  for (const [what, make, description = /./] of ATTACKS)
    test(what, async () => {
      const { status, headers, text } = await gateway.enter(await make(gateway.provider));
      assert.equal(status, 401, text);
      const challenge = headers.get('www-authenticate') ?? '';
      assert.match(challenge, /^Bearer .*resource_metadata="/);
      assert.match(challenge, description);
      assert.doesNotMatch(text + challenge, /alice|admin|evil|key-1|127\.0\.0\.1:\d+\/(jwks|introspect)/);
    });

  test('none of them had anything fetched but the keys of the issuer, and the log holds no token', () => {
    const paths = new Set(gateway.provider.asked.map(({ path }) => path));
    assert.deepEqual([...paths].sort(), ['/.well-known/openid-configuration', '/introspect', '/jwks']);
    assert.doesNotMatch(JSON.stringify(gateway.lines), /eyJ[A-Za-z0-9_-]{20}/);
  });

  test('a token is known as a whole: neither its beginning nor what begins with it passes for it', async () => {
    const token = await gateway.provider.token();
    assert.equal((await gateway.enter(token)).status, 200);
    for (const other of [token.slice(0, -1), `${token}A`, `${token}=`, token.slice(0, 20), token.toUpperCase()])
      assert.equal((await gateway.enter(other)).status, 401);
    assert.equal((await gateway.enter(token)).status, 200);
  });
});
