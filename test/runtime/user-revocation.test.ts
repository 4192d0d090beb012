import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, test } from 'node:test';
import { exportJWK, generateKeyPair } from 'jose';
import { until } from '../cluster/until.ts';
import { answerJson, count } from '../fixtures/backend.ts';
import { sendModern } from '../fixtures/modern-caller.ts';
import { startProtected } from '../fixtures/protected-gateway.ts';
import { JSON_HEADERS, openSession } from '../fixtures/raw-client.ts';
import { revokeUser } from '../fixtures/revoke-user.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** A backend whose tool answers when it is told to. */
const waiting = () => {
  const release = Promise.withResolvers<void>();
  const on: NonNullable<Parameters<typeof startProtected>[0]>['backend'] = {
    on: ({ recorded }) =>
      recorded.method === 'tools/call'
        ? (request) => void release.promise.then(() => answerJson('{"content":[]}')(request))
        : undefined,
  };
  return { backend: on, release: () => release.resolve() };
};

describe('a user of another issuer whose access is ended', () => {
  test('loses sessions, streams and calls under way, and every token that was issued before', async () => {
    const { backend, release } = waiting();
    const gateway = await startProtected({ backend });
    const { provider, running, clock } = gateway;
    const alices = bearer(await provider.token());
    const bobs = bearer(await provider.token({ sub: 'bob' }));
    const [alice, bob] = [await openSession(running.url, {}, alices), await openSession(running.url, {}, bobs)];
    const stream = await fetch(running.url, {
      headers: { ...alices, accept: 'text/event-stream', 'mcp-session-id': alice.id },
    });
    assert.equal(stream.status, 200);
    const calls = [alice.call('a_echo'), sendModern(running.url, { headers: alices })];
    const bobsCall = bob.call('a_echo');
    await until('three calls', async () => count(gateway.backend, 'tools/call') === 3 || undefined);

    const { status, body } = await revokeUser(running, { subject: 'alice' });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(body.ended, { sessions: 1, streams: 1, calls: 2, accounts: [] });
    for (const answer of await Promise.all(calls)) assert.match(answer.text, /access of this user has been ended/);
    await stream.text();

    const again = await openSession(running.url, {}, alices);
    assert.equal(again.initialize.status, 401);
    assert.match(again.initialize.headers.get('www-authenticate') ?? '', /error="invalid_token"/);
    assert.equal(
      (await openSession(running.url, {}, bearer(await provider.token({ jti: 'x' })))).initialize.status,
      401,
    );
    const unsaid = bearer(await provider.token({ iat: undefined, jti: 'y' }));
    assert.equal((await openSession(running.url, {}, unsaid)).initialize.status, 401);

    release();
    assert.match((await bobsCall).text, /"result"/);
    assert.deepEqual((await revokeUser(running, { subject: 'alice' })).body.ended, {
      sessions: 0,
      streams: 0,
      calls: 0,
      accounts: [],
    });
    clock.advance(31_000);
    const newer = bearer(await provider.token({ jti: 'newer' }));
    assert.equal((await openSession(running.url, {}, newer)).initialize.status, 200);
    const old = await alice.send({ jsonrpc: '2.0', id: 9, method: 'ping' }, newer);
    assert.equal(old.status, 404, 'the session does not come back');
    await gateway.stop();
  });

  test('loses a stream of 2026-07-28', async () => {
    const gateway = await startProtected();
    const { provider, running } = gateway;
    const stream = await fetch(running.url, {
      method: 'POST',
      headers: {
        ...bearer(await provider.token()),
        ...JSON_HEADERS,
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'subscriptions/listen',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'subscriptions/listen',
        params: {
          notifications: { toolsListChanged: true },
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      }),
    });
    assert.equal(stream.status, 200);
    assert.equal((await revokeUser(running, { subject: 'alice' })).body.ended?.streams, 1);
    await stream.text();
    await gateway.stop();
  });

  test('is one of the issuer that is named, and of no other', async () => {
    const gateway = await startProtected();
    const { provider, running } = gateway;
    const { status, body } = await revokeUser(running, { subject: 'alice', issuer: 'https://elsewhere.example' });
    assert.deepEqual([status, body.error], [400, 'unknown_issuer']);
    const token = await provider.token();
    assert.equal((await gateway.enter(token)).status, 200);
    assert.equal((await revokeUser(running, { subject: 'alice', issuer: provider.issuer })).status, 200);
    assert.equal((await gateway.enter(token)).status, 401);
    await gateway.stop();
  });
});

describe('POST /users/revoke', () => {
  test('takes a subject and maybe an issuer, and nothing else', async (t) => {
    const gateway = await startProtected();
    t.after(gateway.stop);
    for (const request of ['', '[]', '{', {}, { subject: '' }, { subject: 1 }, { subject: 'a', user: 'b' }])
      assert.equal((await revokeUser(gateway.running, request)).status, 400, JSON.stringify(request));
  });

  test('has nothing to end where no tokens are taken', async (t) => {
    const running = await startRuntime(configFile({}));
    t.after(running.stop);
    assert.deepEqual((await revokeUser(running, { subject: 'alice' })).status, 409);
  });

  test('is for the operator', async (t) => {
    const { publicKey } = await generateKeyPair('EdDSA');
    const management = { audience: 'uid-1', operatorKeys: [await exportJWK(publicKey)] };
    const running = await startRuntime(configFile({}, { management }));
    t.after(running.stop);
    assert.equal((await revokeUser(running, { subject: 'alice' })).status, 401);
    assert.equal((await revokeUser(running, { subject: 'alice' }, { authorization: 'Bearer x' })).status, 401);
  });
});

const program = new URL('../../runtime/main.ts', import.meta.url).pathname;

const vmcp = (...args: readonly string[]): Promise<{ exitCode: number; stdout: string; stderr: string }> =>
  new Promise((resolve) => {
    const child = execFile(process.execPath, [program, ...args], (_error, stdout, stderr) =>
      resolve({ exitCode: child.exitCode ?? -1, stdout, stderr }),
    );
  });

describe('vmcp users revoke', () => {
  test('says what has ended', async (t) => {
    const gateway = await startProtected();
    t.after(gateway.stop);
    const { provider, running } = gateway;
    await gateway.enter(await provider.token());
    const where = ['--management-url', running.managementUrl];
    const text = await vmcp('users', 'revoke', '--subject', 'alice', ...where);
    assert.equal(text.exitCode, 0, text.stderr);
    assert.match(text.stdout, /^what "alice" of http:\/\/\S+ was issued until .* counts no more at this replica\n/);
    assert.match(text.stdout, /\nended: sessions 1, streams 0, calls 0 \(told by replicas: 1\)\n/);
    const json = await vmcp(
      'users',
      'revoke',
      '--subject',
      'alice',
      '--issuer',
      provider.issuer,
      ...where,
      '-o',
      'json',
    );
    assert.equal((JSON.parse(json.stdout) as { ended: { sessions: number } }).ended.sessions, 0);
    const typo = await vmcp('users', 'revoke', '--subject', 'alice', '--issuer', 'https://typo.example', ...where);
    assert.equal(typo.exitCode, 2);
    assert.match(typo.stderr, /this server takes tokens of http/);
    assert.equal((await vmcp('users', 'revoke', ...where)).exitCode, 2);
    assert.equal((await vmcp('users', '--subject', 'alice')).exitCode, 2);
  });
});
