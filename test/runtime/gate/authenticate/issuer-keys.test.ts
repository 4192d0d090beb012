import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { metadataUrlsOf } from '../../../../runtime/gate/authenticate/discovery.ts';
import {
  COOL_DOWN_MS,
  FIRST_COOL_DOWN_MS,
  MAX_AGE_MS,
  UNKNOWN_KEY_FETCHES,
} from '../../../../runtime/gate/authenticate/issuer-keys.ts';
import { VALID_MS } from '../../../../runtime/gate/authenticate/token-cache.ts';
import { noCertificates, testCertificates } from '../../../fixtures/certificates.ts';
import { JWKS_PATH, sendJson, signingKey } from '../../../fixtures/identity-provider.ts';
import { type ProtectedGateway, startProtected } from '../../../fixtures/protected-gateway.ts';
import { covers } from '../../../requirements.ts';

const DISCOVERY = '/.well-known/openid-configuration';

const warnings = ({ lines }: ProtectedGateway): readonly string[] =>
  lines.filter(({ level, message }) => level === 'warn' && message.includes('keys of the issuer')).map(lineText);
const lineText = ({ message, fields }: ProtectedGateway['lines'][number]): string =>
  `${message} ${JSON.stringify(fields)}`;

const DISCOVERED = { oidc: {} };

suite('discovery', () => {
  covers('incoming-auth.oidc.jwks-discovery', 'incoming-auth.oidc.jwks-private-ip-allowed');
  covers('incoming-auth.oidc.insecure-http-allowed');
  test('the keys are found by way of the metadata of the issuer, before the first token comes', async () => {
    const gateway = await startProtected(DISCOVERED);
    assert.equal((await gateway.enter(await gateway.provider.token())).status, 200);
    assert.deepEqual(
      gateway.provider.asked.map(({ path }) => path),
      [DISCOVERY, JWKS_PATH],
    );
    await gateway.stop();
  });

  covers('incoming-auth.oidc.jwks-url', 'incoming-auth.oidc.jwks-url-skips-discovery');
  test('with jwksUrl there is none', async () => {
    const gateway = await startProtected({ oidc: ({ jwksUrl }) => ({ jwksUrl }) });
    assert.equal((await gateway.enter(await gateway.provider.token())).status, 200);
    assert.deepEqual(
      gateway.provider.asked.map(({ path }) => path),
      [JWKS_PATH],
    );
    await gateway.stop();
  });

  test('the forms of the address, in order', () => {
    assert.deepEqual(metadataUrlsOf('https://idp.example'), [
      'https://idp.example/.well-known/openid-configuration',
      'https://idp.example/.well-known/oauth-authorization-server',
    ]);
    assert.deepEqual(metadataUrlsOf('https://idp.example/realms/a/'), [
      'https://idp.example/realms/a/.well-known/openid-configuration',
      'https://idp.example/.well-known/oauth-authorization-server/realms/a',
      'https://idp.example/.well-known/openid-configuration/realms/a',
    ]);
  });

  test('an issuer with RFC 8414 metadata alone is found, too', async () => {
    const gateway = await startProtected({ ...DISCOVERED, provider: { path: '/tenant' } });
    const { provider } = gateway;
    // What was fetched at the start came before these.
    await gateway.enter(await provider.token());
    provider.instead.set(`/tenant${DISCOVERY}`, (_request, response) => sendJson(response, 404, {}));
    provider.instead.set('/.well-known/oauth-authorization-server/tenant', (_request, response) =>
      sendJson(response, 200, provider.metadata()),
    );
    await provider.rotate();
    gateway.clock.advance(COOL_DOWN_MS);
    assert.equal((await gateway.enter(await provider.token())).status, 200);
    assert.equal(provider.count('/.well-known/oauth-authorization-server/tenant'), 1);
    await gateway.stop();
  });

  test('a document about another issuer is not believed', async () => {
    const gateway = await startProtected(DISCOVERED);
    await gateway.enter(await gateway.provider.token());
    const { provider } = gateway;
    const evil = await signingKey('evil');
    provider.instead.set(DISCOVERY, (_request, response) =>
      sendJson(response, 200, {
        ...provider.metadata(),
        issuer: 'https://evil.example',
        jwks_uri: `${provider.origin}/evil`,
      }),
    );
    provider.instead.set('/evil', (_request, response) => sendJson(response, 200, { keys: [evil.publicJwk] }));
    gateway.clock.advance(COOL_DOWN_MS);
    assert.equal((await gateway.enter(await provider.token({}, { key: evil }))).status, 401);
    assert.equal(provider.count('/evil'), 0);
    assert.match(warnings(gateway).join(), /another issuer than the configured one/);
    await gateway.stop();
  });
});

suite('what may be fetched', () => {
  covers('incoming-auth.oidc.jwks-private-ip-refused');
  test('nothing from a private address, unless the owner allows it', async () => {
    const gateway = await startProtected({ oidc: { jwksAllowPrivateIp: false } });
    const { status, headers } = await gateway.enter(await gateway.provider.token());
    assert.deepEqual([status, headers.get('retry-after'), gateway.provider.asked.length], [503, '5', 0]);
    assert.match(warnings(gateway).join(), /the address must not be fetched from/);
    await gateway.stop();
  });

  test('keys without TLS are not fetched from an issuer with TLS', async () => {
    const gateway = await startProtected({
      oidc: ({ jwksUrl }) => ({ issuer: 'https://idp.example', jwksUrl, insecureAllowHttp: false }),
    });
    const { status } = await gateway.enter(await gateway.provider.token({ iss: 'https://idp.example' }));
    assert.deepEqual([status, gateway.provider.asked.length], [503, 0]);
    await gateway.stop();
  });

  test('a redirect is not followed', async () => {
    const gateway = await startProtected({ oidc: ({ origin }) => ({ jwksUrl: `${origin}/moved` }) });
    gateway.provider.instead.set('/moved', (_request, response) =>
      response.writeHead(302, { location: gateway.provider.jwksUrl }).end(),
    );
    gateway.clock.advance(FIRST_COOL_DOWN_MS);
    assert.equal((await gateway.enter(await gateway.provider.token())).status, 503);
    assert.equal(gateway.provider.count(JWKS_PATH), 0);
    await gateway.stop();
  });

  test('a certificate authority of the configuration is the only one', { skip: noCertificates }, async () => {
    const { keyFile, certificateFile, caFile, remove } = await testCertificates();
    const tls = { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certificateFile, 'utf8') };
    const trusting = await startProtected({
      provider: { tls },
      oidc: { caBundlePath: caFile, insecureAllowHttp: false },
    });
    assert.equal((await trusting.enter(await trusting.provider.token())).status, 200);
    await trusting.stop();
    const wary = await startProtected({ provider: { tls }, oidc: { insecureAllowHttp: false } });
    assert.equal((await wary.enter(await wary.provider.token())).status, 503);
    await wary.stop();
    await remove();
  });
});

suite('keys come and go', () => {
  test('requests that come while the keys are fetched wait for them, and share one fetch', async () => {
    const gateway = await startProtected(DISCOVERED);
    await gateway.enter(await gateway.provider.token());
    const { provider } = gateway;
    await provider.rotate();
    gateway.clock.advance(COOL_DOWN_MS);
    const held = Promise.withResolvers<void>();
    provider.hold = held.promise;
    const tokens = await Promise.all(
      Array.from({ length: 20 }, (_, index) => provider.token({ sub: `user-${index}` })),
    );
    const answers = Promise.all(tokens.map((token) => gateway.enter(token)));
    await new Promise((resolve) => setTimeout(resolve, 50));
    held.resolve();
    assert.deepEqual([...new Set((await answers).map(({ status }) => status))], [200]);
    assert.equal(provider.count(JWKS_PATH), 2);
    await gateway.stop();
  });

  test('a rotation in the middle of many calls fails none of them', async () => {
    const gateway = await startProtected(DISCOVERED);
    const { provider, clock } = gateway;
    assert.equal((await gateway.enter(await provider.token())).status, 200);
    const statuses: number[] = [];
    const call = async (sub: string) => void statuses.push((await gateway.enter(await provider.token({ sub }))).status);
    for (let round = 0; round < 3; round += 1) {
      const before = Array.from({ length: 30 }, (_, i) => call(`before-${round}-${i}`));
      await provider.rotate(2);
      clock.advance(COOL_DOWN_MS);
      await Promise.all([...before, ...Array.from({ length: 30 }, (_, i) => call(`after-${round}-${i}`))]);
    }
    assert.deepEqual([...new Set(statuses)], [200]);
    assert.equal(provider.count(JWKS_PATH), 4);
    await gateway.stop();
  });

  test('tokens of a key that has just rotated in are taken at once, and of the next ones, too', async () => {
    const gateway = await startProtected(DISCOVERED);
    const { provider } = gateway;
    assert.equal((await gateway.enter(await provider.token())).status, 200);
    for (let rotation = 0; rotation < UNKNOWN_KEY_FETCHES; rotation += 1) {
      await provider.rotate();
      assert.equal((await gateway.enter(await provider.token())).status, 200);
    }
    await gateway.stop();
  });

  test('key ids that somebody invents have the keys fetched a few times, then once in a while', async () => {
    const gateway = await startProtected(DISCOVERED);
    const { provider, clock } = gateway;
    await gateway.enter(await provider.token());
    const invented = async (from: number) => {
      for (let number = from; number < from + 20; number += 1) {
        const token = await provider.token({}, { header: { kid: `invented-${number}` } });
        assert.equal((await gateway.enter(token)).status, 401);
      }
    };
    await invented(0);
    assert.equal(provider.count(JWKS_PATH), 1 + UNKNOWN_KEY_FETCHES);
    for (let later = 1; later <= 3; later += 1) {
      clock.advance(COOL_DOWN_MS);
      await invented(later * 100);
      assert.equal(provider.count(JWKS_PATH), 1 + UNKNOWN_KEY_FETCHES + later);
    }
    await provider.rotate();
    const token = await provider.token();
    assert.equal((await gateway.enter(token)).status, 401, 'nothing may be fetched now');
    clock.advance(COOL_DOWN_MS);
    assert.equal((await gateway.enter(token)).status, 200, 'the refusal was not kept');
    await gateway.stop();
  });

  test('a token that came before its key was published is taken afterwards', async () => {
    const gateway = await startProtected(DISCOVERED);
    const { provider, clock } = gateway;
    const next = await signingKey('next');
    const token = await provider.token({}, { key: next });
    assert.equal((await gateway.enter(token)).status, 401);
    clock.advance(COOL_DOWN_MS);
    provider.instead.set(JWKS_PATH, (_request, response) => sendJson(response, 200, { keys: [next.publicJwk] }));
    assert.equal((await gateway.enter(token)).status, 200);
    await gateway.stop();
  });

  test('while the provider is away known keys go on for hours, and others are refused with a line in the log', async () => {
    const gateway = await startProtected(DISCOVERED);
    const { provider, clock } = gateway;
    const token = () => provider.token();
    assert.equal((await gateway.enter(await token())).status, 200);
    provider.beAway(true);
    for (let hour = 0; hour < 3; hour += 1) {
      clock.advance(3_600_000);
      assert.equal((await gateway.enter(await token())).status, 200);
    }
    const old = provider.key();
    await provider.rotate();
    assert.equal((await gateway.enter(await token())).status, 401);
    assert.match(warnings(gateway).at(-1) ?? '', /known keys go on, tokens signed with other keys are refused/);
    assert.doesNotMatch(warnings(gateway).join(), /eyJ/);
    provider.beAway(false);
    clock.advance(COOL_DOWN_MS);
    assert.equal((await gateway.enter(await token())).status, 200);
    assert.equal((await gateway.enter(await provider.token({}, { key: old }))).status, 401);
    assert.ok(gateway.lines.some(({ message }) => message.includes('could be fetched again')));
    await gateway.stop();
  });

  test('a withdrawn key is taken no more once the keys are fetched again, nor are tokens that were verified with it', async () => {
    const gateway = await startProtected(DISCOVERED);
    const { provider, clock } = gateway;
    const token = await provider.token({}, { lifeSeconds: 86_400 });
    assert.equal((await gateway.enter(token)).status, 200);
    await provider.rotate();
    clock.advance(VALID_MS - 1);
    assert.equal((await gateway.enter(token)).status, 200, 'the cache knows it');
    // Another token makes the new keys known, which empties the cache.
    assert.equal((await gateway.enter(await provider.token())).status, 200);
    assert.equal((await gateway.enter(token)).status, 401);
    await gateway.stop();
  });

  test('keys are fetched again when they are old, beside the requests', async () => {
    const gateway = await startProtected(DISCOVERED);
    const { provider, clock } = gateway;
    assert.equal((await gateway.enter(await provider.token())).status, 200);
    clock.advance(MAX_AGE_MS);
    assert.equal((await gateway.enter(await provider.token())).status, 200);
    while (provider.count(JWKS_PATH) < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    await gateway.stop();
  });

  test('as long as no keys could be had, the answer is 503, not 401, and the provider is not asked by every request', async () => {
    const gateway = await startProtected(DISCOVERED);
    const { provider, clock } = gateway;
    // The first ones are dropped: a configuration with another issuer begins without keys.
    provider.instead.set(JWKS_PATH, (_request, response) => sendJson(response, 500, {}));
    gateway.running.reload(gateway.file({ scopes: ['x'] }));
    const token = await provider.token({ scope: 'x' });
    const { status, headers, json } = await gateway.enter(token);
    assert.deepEqual([status, headers.get('retry-after')], [503, '5']);
    assert.equal(headers.get('www-authenticate'), null);
    assert.equal((json as Record<string, unknown>)['error'], 'issuer_unavailable');
    const asked = provider.count(JWKS_PATH);
    for (let i = 0; i < 5; i += 1) assert.equal((await gateway.enter(token)).status, 503);
    assert.equal(provider.count(JWKS_PATH), asked);
    provider.instead.clear();
    clock.advance(FIRST_COOL_DOWN_MS);
    assert.equal((await gateway.enter(token)).status, 200);
    await gateway.stop();
  });

  for (const [what, body] of [
    ['no JSON', '<html>'],
    ['a list', '[]'],
    ['no keys', '{}'],
    ['keys that are none', '{"keys":7}'],
    ['a megabyte and more', `{"keys":[],"x":"${'x'.repeat(1024 * 1024)}"}`],
  ] as const)
    test(`an answer that is ${what} leaves the known keys in place`, async () => {
      const gateway = await startProtected(DISCOVERED);
      const { provider, clock } = gateway;
      assert.equal((await gateway.enter(await provider.token())).status, 200);
      provider.instead.set(JWKS_PATH, (_request, response) => response.writeHead(200).end(body));
      clock.advance(COOL_DOWN_MS);
      assert.equal((await gateway.enter(await provider.token({}, { header: { kid: 'other' } }))).status, 401);
      assert.equal((await gateway.enter(await provider.token({ sub: 'bob' }))).status, 200);
      assert.equal(warnings(gateway).length, 1);
      await gateway.stop();
    });

  test('entries of the key set that are no public keys disturb no others', async () => {
    const gateway = await startProtected({
      oidc: (provider) => ({
        issuerKeys: {
          keys: [{ kty: 'oct', k: 'c2VjcmV0', kid: 'key-1' }, { kty: 'new', kid: 'x' }, provider.key().publicJwk],
        },
      }),
    });
    assert.equal((await gateway.enter(await gateway.provider.token())).status, 200);
    await gateway.stop();
  });
});
