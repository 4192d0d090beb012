import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { after, before, test } from 'node:test';
import { connect } from 'node:tls';
import { accepted, forbidden } from '../../../operator/admission/review.ts';
import { type AdmissionServer, serveAdmission } from '../../../operator/admission/server.ts';
import { newAuthority, newServerCertificate } from '../../../operator/admission/x509.ts';
import { steadyClock } from '../../../runtime/process/system-clock.ts';
import { creating, object } from './context-under-test.ts';
import { readHere } from '../../../operator/threads/read-json.ts';

const hour = 3_600_000;
const validity = { fromMs: Date.now() - hour, toMs: Date.now() + hour };
const authority = newAuthority('a', validity);
const certificate = () => newServerCertificate(['127.0.0.1'], validity, authority);

const failures: unknown[] = [];
const state = { isReady: true, isThreadBroken: false };
/** What waits until its caller goes; told when it begins. */
const waiting = new EventEmitter();
const untilGone = async (what: string, gone: AbortSignal | undefined): Promise<never> => {
  waiting.emit(what);
  await (gone === undefined ? new Promise(() => {}) : once(gone, 'abort'));
  waiting.emit(`${what} has ended`);
  throw new Error('the caller has gone');
};
let server: AdmissionServer;

before(async () => {
  server = await serveAdmission(0, {
    checks: {
      '/validate': ({ object: made }) =>
        Promise.resolve(made?.metadata.name === 'bad' ? { refusal: forbidden('no'), warnings: [] } : accepted),
      '/waiting': (_, gone) => untilGone('judging', gone),
      '/broken': () => Promise.reject(new Error('the secret of the house')),
    },
    isReady: () => state.isReady,
    onFailure: (error) => failures.push(error),
    clock: steadyClock,
    read: (json, { signal } = {}) => {
      if (state.isThreadBroken) return Promise.reject(new Error('the thread ended'));
      return json.length > 300_000 ? untilGone('reading', signal) : readHere(json);
    },
  });
});
after(() => server.stop());

interface Answer {
  readonly status: number;
  readonly text: string;
}

const caller = (headers: Record<string, string> = {}) => ({
  host: '127.0.0.1',
  port: server.port,
  method: 'POST',
  ca: authority.certificate,
  agent: false,
  headers: { 'content-type': 'application/json', ...headers },
});

const post = async (path: string, body: string, headers: Record<string, string> = {}): Promise<Answer> => {
  const call = request({ ...caller(headers), path });
  call.end(body);
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  const text = Buffer.concat(await response.toArray()).toString();
  return { status: response.statusCode ?? 0, text };
};

const review = (name: string, spec: object = {}): string =>
  JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: creating(object('MCPGroup', name, spec)),
  });

test('before there is a certificate no handshake succeeds', async () => {
  await assert.rejects(post('/validate', review('good')), /handshake failure|ECONNRESET/);
});

test('a review is answered with a review', async () => {
  server.useCertificate(certificate());
  const [good, bad] = [await post('/validate', review('good')), await post('/validate', review('bad'))];
  assert.deepEqual([good.status, bad.status], [200, 200]);
  assert.match(good.text, /"allowed":true/);
  assert.match(bad.text, /"allowed":false.*"message":"no"/);
});

const REFUSED: readonly (readonly [string, number, string, string, Record<string, string>?])[] = [
  ['another path', 404, '/', review('good')],
  ['no review', 400, '/validate', '{}'],
  ['no JSON', 400, '/validate', '{'],
  ['another media type', 415, '/validate', review('good'), { 'content-type': 'application/xml' }],
  ['a body that is too large', 413, '/validate', '{}', { 'content-length': `${9 * 1024 * 1024}` }],
];
for (const [what, status, path, body, headers] of REFUSED) {
  test(`${what} is answered with ${status}`, async () => {
    assert.equal((await post(path, body, headers)).status, status);
  });
}

test('bodies that are announced and do not come keep large ones waiting for two seconds, and small ones not at all', async () => {
  const sockets = Array.from({ length: 3 }, () =>
    connect({ host: '127.0.0.1', port: server.port, ca: authority.certificate }),
  );
  await Promise.all(sockets.map((socket) => once(socket, 'secureConnect')));
  const cut = sockets.map((socket) => once(socket, 'close'));
  for (const socket of sockets)
    socket.write(
      `POST /validate HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${8 * 1024 * 1024}\r\n\r\n{`,
    );
  const answered: string[] = [];
  const ask = async (what: string, body: string): Promise<void> => {
    assert.equal((await post('/validate', body)).status, 200);
    answered.push(what);
  };
  const large = ask('large', review('good', { text: 'x'.repeat(200_000) }));
  await ask('small', review('good'));
  await large;
  assert.deepEqual(answered, ['small', 'large']);
  await Promise.all(cut);
});

test('before everything is known nothing is decided', async () => {
  state.isReady = false;
  assert.equal((await post('/validate', review('bad'))).status, 503);
  state.isReady = true;
});

test('an internal error is logged, and not shown to the client', async () => {
  const { status, text } = await post('/broken', review('good'));
  assert.equal(status, 500);
  assert.doesNotMatch(text, /secret/);
  assert.match(String(failures.at(-1)), /the secret of the house/);
});

test('a body that the thread failed to read is a fault of ours, and logged', async () => {
  state.isThreadBroken = true;
  assert.equal((await post('/validate', review('good'))).status, 500);
  state.isThreadBroken = false;
  assert.match(String(failures.at(-1)), /the thread ended/);
});

for (const [what, path, spec] of [
  ['reading', '/validate', { text: 'x'.repeat(300_000) }],
  ['judging', '/waiting', {}],
] as const)
  test(`a caller that goes is not worked for any more (${what})`, async () => {
    const begun = once(waiting, what);
    const ended = once(waiting, `${what} has ended`);
    const call = request({ ...caller(), path });
    call.on('error', () => {});
    call.end(review('good', spec));
    await begun;
    call.destroy();
    await ended;
  });

test('another certificate counts from the next handshake on, and connections that are there stay', async () => {
  const handshake = async () => {
    const socket = connect({ host: '127.0.0.1', port: server.port, ca: authority.certificate });
    await once(socket, 'secureConnect');
    return socket;
  };
  const first = await handshake();
  const before = first.getPeerCertificate().fingerprint256;
  server.useCertificate(certificate());
  const second = await handshake();
  assert.notEqual(second.getPeerCertificate().fingerprint256, before);
  first.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  const [answer] = (await once(first, 'data')) as [Buffer];
  assert.match(answer.toString(), /^HTTP\/1\.1 404/);
  first.destroy();
  second.destroy();
});

test('a server that drains answers, and ends each connection with its answer', async () => {
  const agent = new Agent({ keepAlive: true });
  const connectionOf = async (): Promise<string | undefined> => {
    const call = request({ ...caller(), agent, path: '/validate' });
    call.end(review('good'));
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    await response.toArray();
    assert.equal(response.statusCode, 200);
    return response.headers.connection;
  };
  assert.equal(await connectionOf(), 'keep-alive');
  server.drain();
  assert.equal(await connectionOf(), 'close');
  agent.destroy();
});
