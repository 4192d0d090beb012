import assert from 'node:assert/strict';
import { get } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { operatorTokenCheck } from '../../../runtime/edge/operator-token.ts';
import type { Running } from '../../../runtime/start.ts';
import { LIMITS } from '../../../runtime/limits.ts';
import { connectByHand } from '../../fixtures/by-hand.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

const { publicKey, privateKey } = await generateKeyPair('EdDSA');
const other = await generateKeyPair('EdDSA');
const jwk = await exportJWK(publicKey);
const otherJwk = await exportJWK(other.publicKey);
const nowSeconds = Math.floor(Date.now() / 1000);

const token = (claims: { aud?: string; exp?: number }, key = privateKey): Promise<string> => {
  const jwt = new SignJWT({}).setProtectedHeader({ alg: 'EdDSA' });
  if (claims.aud !== undefined) jwt.setAudience(claims.aud);
  if (claims.exp !== undefined) jwt.setExpirationTime(nowSeconds + claims.exp);
  return jwt.sign(key);
};

describe('a token of the operator', () => {
  const now = () => nowSeconds * 1000;
  const check = operatorTokenCheck({ audience: 'uid-1', operatorKeys: [otherJwk, jwk] }, { now });
  const rows: readonly (readonly [string, () => Promise<string | undefined>, boolean])[] = [
    ['for this process, 60 s long', async () => `Bearer ${await token({ aud: 'uid-1', exp: 60 })}`, true],
    ['for another process', async () => `Bearer ${await token({ aud: 'uid-2', exp: 60 })}`, false],
    ['without an audience', async () => `Bearer ${await token({ exp: 60 })}`, false],
    ['without an end', async () => `Bearer ${await token({ aud: 'uid-1' })}`, false],
    ['that has ended', async () => `Bearer ${await token({ aud: 'uid-1', exp: -10 })}`, false],
    ['that lives too long', async () => `Bearer ${await token({ aud: 'uid-1', exp: 120 })}`, false],
    [
      'of a stranger',
      async () => `Bearer ${await token({ aud: 'uid-1', exp: 60 }, (await generateKeyPair('EdDSA')).privateKey)}`,
      false,
    ],
    ['that is no token', async () => 'Bearer x.y.z', false],
    ['of another scheme', async () => `Basic ${await token({ aud: 'uid-1', exp: 60 })}`, false],
    ['that is absent', async () => undefined, false],
  ];
  for (const [what, make, expected] of rows) {
    test(`${what} ${expected ? 'opens' : 'does not open'} the status`, async () =>
      assert.equal(await check(await make()), expected));
  }

  test('opens nothing without a configured audience', async () => {
    const closed = operatorTokenCheck({ audience: undefined, operatorKeys: [jwk] }, { now });
    assert.equal(await closed(`Bearer ${await token({ aud: 'uid-1', exp: 60 })}`), false);
  });
});

describe('the management port', () => {
  let open: Running;
  let guarded: Running;
  before(async () => {
    open = await startRuntime(configFile({}));
    guarded = await startRuntime(configFile({}, { management: { audience: 'uid-1', operatorKeys: [jwk] } }));
  });
  after(() => Promise.all([open.stop(), guarded.stop()]));

  const rows: readonly (readonly [Record<string, string>, number])[] = [
    [{ host: 'rebound.example.com' }, 403],
    [{ host: 'localhost:4484' }, 200],
    [{ host: '[::1]:4484' }, 200],
    [{ host: 'localhost', origin: 'https://evil.example.com' }, 403],
    [{ host: 'localhost', origin: 'http://localhost:3000' }, 200],
  ];
  for (const [headers, expected] of rows) {
    test(`without keys answers ${JSON.stringify(headers)} with ${expected}: a web page must not read the status`, async () => {
      const url = new URL('/status', open.managementUrl);
      const status = await new Promise((resolve, reject) => {
        get(url, { headers }, (response) => resolve(response.resume().statusCode)).on('error', reject);
      });
      assert.equal(status, expected);
    });
  }

  test('has open probes', async () => {
    for (const path of ['/healthz', '/readyz']) assert.equal((await fetch(guarded.managementUrl + path)).status, 200);
  });

  test('shows the status on loopback while there are no operator keys', async () => {
    const response = await fetch(`${open.managementUrl}/status`);
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), open.status());
  });

  test('shows the status to the operator only when there are keys', async () => {
    const url = `${guarded.managementUrl}/status`;
    assert.equal((await fetch(url)).status, 401);
    // This file may have been read long before: other files share the process.
    const sinceRead = Math.floor(Date.now() / 1000) - nowSeconds;
    const authorization = `Bearer ${await token({ aud: 'uid-1', exp: sinceRead + 60 })}`;
    assert.deepEqual(await (await fetch(url, { headers: { authorization } })).json(), guarded.status());
  });

  const HEALTHZ = 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n';

  test('closes a connection with its answer, and one on which more requests come', async (t) => {
    for (const requests of [1, 100]) {
      const { socket, closed, text } = connectByHand(t, open.managementUrl);
      socket.write(HEALTHZ.repeat(requests));
      await closed;
      if (requests === 1) assert.match(text(), /^HTTP\/1\.1 200 /);
      assert.ok(text().split('HTTP/1.1').length <= 2);
    }
  });

  test('is not kept from probes by others who connect and stay, in silence or in the middle of a request', async (t) => {
    for (const words of ['', 'GET /healthz HTTP/1.1\r\n']) {
      const staying = Array.from({ length: LIMITS.managementConnections + 10 }, () =>
        connectByHand(t, open.managementUrl),
      );
      for (const { socket } of staying) socket.write(words);
      await Promise.all(staying.slice(0, 10).map(({ closed }) => closed));
      assert.equal((await fetch(`${open.managementUrl}/healthz`)).status, 200);
      assert.ok(staying.some(({ isClosed }) => !isClosed()));
    }
  });

  test('shows metrics to every client that reaches it, with and without keys', async () => {
    for (const { managementUrl } of [open, guarded])
      assert.equal((await fetch(`${managementUrl}/metrics`)).status, 200);
  });

  test('serves nothing else', async () => {
    for (const path of ['/', '/mcp', '/metrics/']) assert.equal((await fetch(open.managementUrl + path)).status, 404);
    for (const path of ['/status', '/readyz']) assert.equal((await fetch(new URL(path, open.url))).status, 404);
  });
});
