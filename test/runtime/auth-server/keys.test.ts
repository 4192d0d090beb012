import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { afterEach, suite, test } from 'node:test';
import { decodeProtectedHeader } from 'jose';
import { type AuthServerGateway, type AuthServerOptions, startAuthServer } from '../../fixtures/auth-server.ts';
import { noCertificates } from '../../fixtures/certificates.ts';
import { INITIALIZE, post } from '../../fixtures/raw-client.ts';
import { codeIn, registerClient, type TestClient, textIn } from '../../fixtures/signing-in.ts';
import { covers } from '../../requirements.ts';
import { until } from '../../cluster/until.ts';

const skip = noCertificates;

const clean: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const each of clean.splice(0)) await each();
});

const started = async (options: AuthServerOptions = {}): Promise<AuthServerGateway> => {
  const gateway = await startAuthServer(options);
  clean.unshift(gateway.stop);
  return gateway;
};

const newEcKey = (namedCurve = 'P-256'): string =>
  String(generateKeyPairSync('ec', { namedCurve }).privateKey.export({ type: 'pkcs8', format: 'pem' }));
const newRsaKey = (): string =>
  String(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs1', format: 'pem' }));
const newEdKey = (): string =>
  String(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }));

const accessTokenOf = async (client: TestClient): Promise<string> => textIn(await client.tokens(), 'access_token');
const kidOf = (token: string): string => decodeProtectedHeader(token).kid ?? '';
const enter = async ({ running }: AuthServerGateway, token: string): Promise<number> =>
  (await post(running().url, INITIALIZE, { authorization: `Bearer ${token}` })).status;
const published = async ({ issuer }: AuthServerGateway): Promise<readonly string[]> => {
  const { keys } = (await (await fetch(`${issuer}/.well-known/jwks.json`)).json()) as { keys: { kid: string }[] };
  return keys.map(({ kid }) => kid);
};

suite('signing keys', { skip }, () => {
  covers('authserver.signing-keys.used', 'authserver.signing-keys.persistent-restart');
  test('of a file sign, and their tokens are good after a restart', async () => {
    for (const [pem, alg] of [
      [newEcKey(), 'ES256'],
      [newEcKey('P-384'), 'ES384'],
      [newRsaKey(), 'RS256'],
      [newEdKey(), 'EdDSA'],
    ] as const) {
      const gateway = await started();
      const keys = { authServer: { signingKeyFiles: [await gateway.write('key.pem', pem)] } };
      await gateway.restart(keys);
      const token = await accessTokenOf(await registerClient(gateway));
      assert.equal(decodeProtectedHeader(token).alg, alg);
      assert.deepEqual(await published(gateway), [kidOf(token)]);
      assert.equal(await enter(gateway, token), 200);
      await gateway.restart(keys);
      assert.equal(await enter(gateway, token), 200);
    }
  });

  covers(
    'authserver.signing-keys.several',
    'authserver.signing-keys.oldest-verifies',
    'authserver.signing-keys.oldest-never-signs',
  );
  test('rotate while the server runs: the first signs, all verify, and one that is withdrawn is good no more', async () => {
    const gateway = await started();
    const [older, newer] = [
      await gateway.write('older.pem', newEcKey()),
      await gateway.write('newer.pem', newRsaKey()),
    ];
    await gateway.restart({ authServer: { signingKeyFiles: [older] } });
    const client = await registerClient(gateway);
    const before = await accessTokenOf(client);
    assert.deepEqual(gateway.running().reload(gateway.file({ authServer: { signingKeyFiles: [newer, older] } })), {
      ok: true,
    });
    await until('the newer key', async () => ((await published(gateway)).length === 2 ? true : undefined), {
      timeoutMs: 10_000,
      intervalMs: 100,
    });
    const after = await accessTokenOf(client);
    assert.notEqual(kidOf(after), kidOf(before));
    assert.deepEqual(await published(gateway), [kidOf(after), kidOf(before)]);
    for (const token of [before, after]) assert.equal(await enter(gateway, token), 200);

    gateway.running().reload(gateway.file({ authServer: { signingKeyFiles: [newer] } }));
    await until('the end of the older key', async () => ((await published(gateway)).length === 1 ? true : undefined), {
      timeoutMs: 10_000,
      intervalMs: 100,
    });
    assert.equal(await enter(gateway, before), 401);
    assert.equal(await enter(gateway, after), 200);
  });

  test('rotate with the content of their file', async () => {
    const gateway = await started();
    const file = await gateway.write('key.pem', newEcKey());
    await gateway.restart({ authServer: { signingKeyFiles: [file] } });
    const client = await registerClient(gateway);
    const before = await accessTokenOf(client);
    await gateway.write('key.pem', newEcKey());
    await until('the newer key', async () => ((await published(gateway))[0] === kidOf(before) ? undefined : true), {
      timeoutMs: 10_000,
      intervalMs: 100,
    });
    assert.equal(await enter(gateway, before), 401);
    assert.equal(await enter(gateway, await accessTokenOf(client)), 200);
  });

  test('that are missing or of no use are answered with 503, and nothing is signed with another one', async () => {
    const gateway = await started();
    const file = await gateway.write('key.pem', newEcKey());
    await gateway.restart({ authServer: { signingKeyFiles: [file] } });
    const client = await registerClient(gateway);
    const answer = await client.tokens();
    const token = textIn(answer, 'access_token');
    const weak = String(
      generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
    );
    const breakIt: readonly (() => Promise<unknown>)[] = [
      () => gateway.write('key.pem', 'no key'),
      () => gateway.write('key.pem', weak),
      () => rm(file),
    ];
    for (const breaking of breakIt) {
      await breaking();
      const refused = await until(
        '503',
        async () => {
          const refreshed = await client.refresh(textIn(answer, 'refresh_token'));
          return refreshed.status === 503 ? refreshed : undefined;
        },
        { timeoutMs: 10_000, intervalMs: 200 },
      );
      assert.equal(refused.body['error'], 'temporarily_unavailable');
      assert.ok(Number(refused.headers.get('retry-after')) > 0);
      const page = await gateway.browser().open(client.authorizationUrl());
      assert.equal(page.status, 503);
      // What was signed before is still good: the key is known.
      assert.equal(await enter(gateway, token), 200);
    }
  });

  covers(
    'authserver.signing-keys.ephemeral-restart',
    'authserver.hmac.ephemeral-restart-codes',
    'authserver.hmac.ephemeral-restart-refresh',
    'authserver.restart.reauthenticate',
    'authserver.storage.memory-restart',
  );
  test('that nobody names are made, loudly, and what they signed ends with them', async () => {
    const gateway = await started();
    const client = await registerClient(gateway);
    const code = codeIn(await client.signIn());
    const answer = await client.tokens();
    const token = textIn(answer, 'access_token');
    assert.equal(await enter(gateway, token), 200);
    assert.ok(
      gateway.lines.some(({ level, message }) => level === 'warn' && /every user has to sign in again/.test(message)),
    );
    await gateway.restart();
    assert.equal(await enter(gateway, token), 401);
    for (const refused of [await client.redeem(code), await client.refresh(textIn(answer, 'refresh_token'))])
      assert.match(String(refused.body['error']), /^invalid_(grant|client)$/);
    const again = await registerClient(gateway);
    assert.equal(await enter(gateway, await accessTokenOf(again)), 200);
  });
});

suite('HMAC secrets', { skip }, () => {
  covers('authserver.hmac.current-min-32-bytes');
  test('have 32 bytes at least, or the server does not start', async () => {
    const gateway = await started();
    const start = async (content: Buffer | string): Promise<void> =>
      gateway.restart({ authServer: { hmacFiles: [await gateway.write('hmac', content)] } });
    await start(Buffer.alloc(32, 0xfe));
    await start('x'.repeat(32));
    await assert.rejects(start(Buffer.alloc(31, 0xfe)), /fewer than 32 bytes/);
    await assert.rejects(start(`${'x'.repeat(31)}\n`), /fewer than 32 bytes/);
    await start('x'.repeat(32));
  });

  test('that are missing are answered with 503', async () => {
    const gateway = await started();
    const hmacFiles = [await gateway.write('hmac', 'x'.repeat(32))];
    await gateway.restart({ authServer: { hmacFiles } });
    const client = await registerClient(gateway);
    await rm(hmacFiles[0] ?? '');
    const answer = await until(
      '503',
      async () => {
        const refused = await client.redeem('a code');
        return refused.status === 503 ? refused : undefined;
      },
      { timeoutMs: 10_000, intervalMs: 200 },
    );
    assert.equal(answer.body['error'], 'temporarily_unavailable');
  });

  covers(
    'authserver.hmac.first-is-current',
    'authserver.hmac.rest-verify-codes',
    'authserver.hmac.rest-verify-refresh',
  );
  test('rotate while the server runs: clients, codes and refresh tokens of before stay good', async () => {
    const gateway = await started();
    const [older, newer] = [await gateway.write('older', 'o'.repeat(32)), await gateway.write('newer', 'n'.repeat(32))];
    await gateway.restart({ authServer: { hmacFiles: [older] } });
    const client = await registerClient(gateway);
    const code = codeIn(await client.signIn());
    const refreshToken = textIn(await client.tokens(), 'refresh_token');
    gateway.running().reload(gateway.file({ authServer: { hmacFiles: [newer, older] } }));
    gateway.later(2_500);
    const refreshed = await client.refresh(refreshToken);
    assert.equal(refreshed.status, 200, JSON.stringify(refreshed.body));
    assert.equal((await client.redeem(code)).status, 200);
    const registeredNow = await registerClient(gateway);
    const tokens = await registeredNow.tokens();

    gateway.running().reload(gateway.file({ authServer: { hmacFiles: [newer] } }));
    gateway.later(2_500);
    // What is used after the rotation belongs to the newer secret.
    assert.equal((await registeredNow.refresh(textIn(tokens, 'refresh_token'))).status, 200);
    assert.equal((await client.refresh(textIn(refreshed, 'refresh_token'))).body['error'], 'invalid_client');
  });
});
