import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { describe, test } from 'node:test';
import type { buildConnector } from 'undici';
import { withConnectRetries } from '../../../../runtime/backends/http/connect-retries.ts';
import { openConnection } from '../../../../runtime/backends/http/connection.ts';
import type { BackendRequest, IdleTimeout } from '../../../../runtime/outgoing/index.ts';
import { ByteBudget } from '../../../../runtime/process/byte-budget.ts';
import { systemClock } from '../../../../runtime/process/system-clock.ts';
import { startBackend } from '../../../fixtures/backend.ts';
import { neverIdle } from '../../../fixtures/idle-timeout.ts';
import { freePortPair } from '../../../fixtures/ports.ts';

/** Has not answered within this: it would be late for what is tried here. */
const LATE_MS = 400;

describe('a backend that nobody can connect to yet', () => {
  const connected = async (idleTimeout: IdleTimeout) => {
    const port = await freePortPair();
    const limits = {
      connections: 1,
      controlConnections: 1,
      streamConnections: 1,
      maxResponseBytes: 10_000,
      uncountedBytes: 100,
      connectTimeoutMs: 1_000,
    };
    const deps = { clock: systemClock, answers: new ByteBudget(10_000) };
    const { fetch, destroy } = openConnection(`http://127.0.0.1:${port}`, limits, deps);
    const request: BackendRequest = {
      method: 'POST',
      path: '/mcp',
      headers: ['content-type', 'application/json'],
      body: Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}'),
      onMessage: () => 'other',
      idleTimeout,
    };
    return { port, answer: fetch(request), destroy };
  };

  test('gets the request once, when it is there at a further attempt', async (t) => {
    const { port, answer, destroy } = await connected(neverIdle);
    const backend = await startBackend({ port, isStateless: true });
    t.after(() => Promise.all([destroy(), backend.close()]));
    assert.equal((await answer).status, 200);
    assert.equal(backend.requests.length, 1);
  });

  test('gets no request that is given up meanwhile', async (t) => {
    let abandon: ((reason: Error) => void) | undefined;
    const onAbandoned: IdleTimeout['onAbandoned'] = (abort) => {
      abandon = abort;
    };
    const { port, answer, destroy } = await connected({ ...neverIdle, onAbandoned });
    abandon?.(new Error('given up'));
    await assert.rejects(answer, /given up/);
    const backend = await startBackend({ port, isStateless: true });
    t.after(() => Promise.all([destroy(), backend.close()]));
    await new Promise((resolve) => setTimeout(resolve, LATE_MS));
    assert.deepEqual(backend.requests, []);
  });
});

describe('attempts to connect', () => {
  type Outcome = { readonly error: Error | null; readonly attempts: number };

  /** The outcome where the first attempts fail with these codes, and the next one succeeds. */
  const failing = (...codes: readonly string[]): Promise<Outcome> =>
    new Promise((resolve) => {
      let attempts = 0;
      const connect: buildConnector.connector = (_options, callback) => {
        const code = codes[attempts++];
        if (code === undefined) return callback(null, new Socket());
        callback(Object.assign(new Error(`attempt ${attempts}`), { code }), null);
      };
      const target = { hostname: 'backend', protocol: 'http:', port: '80' };
      withConnectRetries(connect, () => true)(target, (...[error]) => resolve({ error, attempts }));
    });

  test('are three at most; what fails the last one is the reason', async () => {
    assert.deepEqual(await failing('ECONNREFUSED', 'EAI_AGAIN'), { error: null, attempts: 3 });
    const { error, attempts } = await failing('ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ECONNRESET');
    assert.deepEqual([error?.message, attempts], ['attempt 3', 3]);
  });

  test('end with a certificate that is refused, and with one that takes too long', async () => {
    for (const code of ['DEPTH_ZERO_SELF_SIGNED_CERT', 'ERR_TLS_CERT_ALTNAME_INVALID', 'UND_ERR_CONNECT_TIMEOUT'])
      assert.equal((await failing(code)).attempts, 1);
  });

  test('end with one that fails slowly, or once nobody wants the connection', async () => {
    const tried = (afterMs: number, isWanted: () => boolean): Promise<number> =>
      new Promise((resolve) => {
        let attempts = 0;
        const connect: buildConnector.connector = (_options, callback) => {
          attempts += 1;
          const error = Object.assign(new Error('no'), { code: 'EHOSTUNREACH' });
          setTimeout(() => callback(error, null), afterMs);
        };
        const target = { hostname: 'backend', protocol: 'http:', port: '80' };
        withConnectRetries(connect, isWanted)(target, () => resolve(attempts));
      });
    assert.equal(await tried(600, () => true), 1);
    let asked = 0;
    assert.equal(await tried(0, () => (asked += 1) < 2), 1, 'given up in the first pause');
  });
});
