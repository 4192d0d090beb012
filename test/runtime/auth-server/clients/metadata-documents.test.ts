import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { after, before, beforeEach, describe, test } from 'node:test';
import { ClientError } from '../../../../runtime/auth-server/clients/client-error.ts';
import {
  type FindPublishedClient,
  metadataDocuments,
} from '../../../../runtime/auth-server/clients/metadata-documents.ts';
import { fetchPolicies } from '../../../../runtime/http/fetch-policy.ts';
import { type GuardedClient, guardedFetch } from '../../../../runtime/http/guarded-fetch.ts';
import { noCertificates, type TestCertificates, testCertificates } from '../../../fixtures/certificates.ts';
import { type FrozenClock, frozenClock } from '../../../fixtures/frozen-clock.ts';
import { marksInMemory } from '../../../fixtures/oauth-clients.ts';
import { type PlainServer, startPlainServer, writes } from '../../../fixtures/plain-server.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const withKeys = (keys: unknown): object => ({ token_endpoint_auth_method: 'private_key_jwt', jwks: { keys } });

describe('metadata documents, over TLS', { skip: noCertificates }, () => {
  let certificates: TestCertificates;
  let server: PlainServer;
  let client: GuardedClient;
  let clock: FrozenClock;
  let find: FindPublishedClient;
  let url: string;

  before(async () => {
    certificates = await testCertificates();
    const [key, cert] = await Promise.all([
      readFile(certificates.keyFile, 'utf8'),
      readFile(certificates.certificateFile, 'utf8'),
    ]);
    server = await startPlainServer({ key, cert });
  });
  after(async () => {
    await client.close();
    await server.close();
    await certificates.remove();
  });
  beforeEach(async () => {
    await client?.close();
    clock = frozenClock();
    const caBundle = { path: certificates.caFile, readFile: (path: string) => readFile(path, 'utf8') };
    client = guardedFetch({ ...fetchPolicies.stranger, addresses: 'public or private' }, { clock, caBundle });
    ({ find } = metadataDocuments({
      fetch: client.fetch,
      fetchInUse: client.fetch,
      marks: marksInMemory(clock),
      clock,
      waitMs: async () => 0,
    }));
    url = `${server.origin}/client-${server.requests.length}.json`;
  });

  const document = (more: object = {}): object => ({
    client_id: url,
    client_name: 'Agent',
    redirect_uris: ['http://localhost/callback'],
    token_endpoint_auth_method: 'none',
    ...more,
  });

  const answers =
    (
      body: string,
      { status = 200, ...headers }: { readonly status?: number } & Readonly<Record<string, string | number>> = {},
    ): RequestListener =>
    (_request, response) =>
      void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);

  const publish = (more: object = {}, headers: Record<string, string | number> = {}): void =>
    server.answer(answers(JSON.stringify(document(more)), headers));

  const failure = async (asked = url): Promise<ClientError> => {
    const error = await find(asked).then(
      () => assert.fail('it was found'),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof ClientError, String(error));
    return error;
  };

  const requests = (): number => server.requests.filter(({ request }) => request.url === new URL(url).pathname).length;

  test('a client is what its document says', async () => {
    publish({ scope: 'openid files.read', logo_uri: 'https://x.example/logo.png' });
    assert.deepEqual(await find(url), {
      redirectUris: ['http://localhost/callback'],
      clientName: 'Agent',
      scopes: ['openid', 'files.read'],
      mayRefresh: true,
      authMethod: 'none',
      jwks: undefined,
      jwksUri: undefined,
    });
    const { request } = server.requests.at(-1) ?? assert.fail();
    assert.equal(request.headers.accept, 'application/json');
    assert.equal(request.headers.cookie ?? request.headers.authorization ?? request.headers.referer, undefined);
  });

  const refused: readonly (readonly [string, object | string, RegExp])[] = [
    ['names another client_id', { client_id: 'https://other.example/client.json' }, /client_id is not the URL/],
    ['names no client_id', { client_id: undefined }, /client_id/],
    ['holds a shared secret', { client_secret: 's' }, /without a client_secret/],
    ['holds an empty shared secret', { client_secret: '' }, /without a client_secret/],
    ['says when its secret expires', { client_secret_expires_at: 0 }, /without a client_secret/],
    ['asks for a shared secret', { token_endpoint_auth_method: 'client_secret_basic' }, /one of none, private_key_jwt/],
    ['has no redirect URIs', { redirect_uris: [] }, /at least one/],
    ['has a redirect URI that is not allowed', { redirect_uris: ['javascript:x'] }, /javascript/],
    ['asks for keys and has none', { token_endpoint_auth_method: 'private_key_jwt' }, /jwks/],
    ['has keys that are none', withKeys('k'), /Key Set/],
    ['has a key with a member that is no text', withKeys([{ kty: 'RSA', n: [], e: 'AQAB' }]), /Key Set/],
    ['publishes a private key', withKeys([{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', d: 'd' }]), /public keys/],
    ['publishes a shared key', withKeys([{ kty: 'oct', k: 'k' }]), /public keys/],
    ['is a list', '[]', /no JSON object/],
    ['is no JSON', '<html>', /no JSON object/],
    ['is empty', '', /no JSON object/],
  ];
  for (const [what, more, reason] of refused) {
    test(`a document is refused that ${what}`, async () => {
      if (typeof more === 'string') server.answer(answers(more));
      else publish(more);
      const { statusCode, error, error_description: description } = await failure();
      assert.deepEqual([statusCode, error], [401, 'invalid_client']);
      assert.match(description, reason);
    });
  }

  test('of a key, the members of public keys are kept, and no others', async () => {
    const key = { kty: 'RSA', use: 'sig', key_ops: ['verify'], alg: 'RS256', kid: '1', n: 'n', e: 'AQAB' };
    publish(withKeys([{ ...key, x5c: ['certificate'], more: [{}, {}] }]));
    assert.deepEqual((await find(url)).jwks, { keys: [key] });
  });

  test('a document is refused that names its URL in another spelling', async () => {
    publish({ client_id: url.replace('https://', 'HTTPS://') });
    assert.match((await failure()).error_description, /client_id is not the URL/);
  });

  test('a document is refused that has a member twice', async () => {
    const text = JSON.stringify(document());
    server.answer(answers(`${text.slice(0, -1)},"redirect_uris":["https://evil.example/"]}`));
    assert.equal((await failure()).statusCode, 401);
  });

  test('an answer that is no 200 with JSON is no document', async () => {
    const body = JSON.stringify(document());
    for (const headers of [
      { status: 201 },
      { status: 404 },
      { status: 410 },
      { 'content-type': 'text/plain' },
      { 'content-type': 'text/html' },
    ]) {
      server.answer(answers(body, headers));
      assert.equal((await failure()).statusCode, 401, JSON.stringify(headers));
      clock.advance(10_000);
    }
    server.answer(answers(body, { 'content-type': 'application/oauth-client+json; charset=utf-8' }));
    assert.equal((await find(url)).clientName, 'Agent');
  });

  test('a redirect is not followed, and says so', async () => {
    server.answer(answers('', { status: 302, location: `${server.origin}/other` }));
    const { statusCode, error_description: description } = await failure();
    assert.equal(statusCode, 401);
    assert.match(description, /redirect/);
  });

  test('a document of more than 64 KiB is refused', async () => {
    publish({ padding: 'x'.repeat(64 * 1024) });
    assert.match((await failure()).error_description, /too large/);
  });

  test('a server that is slow, broken or busy makes the client unavailable, and not unknown', async () => {
    server.answer(() => undefined);
    const waiting = failure();
    await server.next();
    clock.advance(5_000);
    const slow = await waiting;
    assert.deepEqual([slow.statusCode, slow.error, slow.retryAfterSeconds], [503, 'temporarily_unavailable', 10]);
    clock.advance(10_000);
    for (const listener of [answers('', { status: 500 }), answers('', { status: 429 }), writes('garbage\r\n\r\n')]) {
      server.answer(listener);
      assert.equal((await failure()).statusCode, 503);
      clock.advance(10_000);
    }
  });

  test('slow documents of the same host that another address names keep no document waiting', async () => {
    server.answer((request, response) => {
      if (!request.url?.startsWith('/slow')) answers(JSON.stringify(document()))(request, response);
    });
    const slow = Array.from({ length: 8 }, (_, n) => find(`${server.origin}/slow-${n}.json`, '198.51.100.1'));
    const ends = Promise.allSettled(slow);
    await server.next();
    assert.equal((await find(url, '192.0.2.1')).clientName, 'Agent');
    await client.close();
    await ends;
  });

  test('after a failure, the server is left in peace for 10 s', async () => {
    server.answer(answers('', { status: 500 }));
    await failure();
    publish();
    clock.advance(9_999);
    assert.equal((await failure()).statusCode, 503);
    assert.equal(requests(), 1);
    clock.advance(1);
    assert.equal((await find(url)).clientName, 'Agent');
  });

  test('many who ask at one time cause one request', async () => {
    publish();
    const found = await Promise.all(Array.from({ length: 50 }, () => find(url)));
    assert.equal(new Set(found).size, 1);
    assert.equal(requests(), 1);
  });

  const lifetimes: readonly (readonly [string, Record<string, string>, freshMs: number])[] = [
    ['without header fields a minute', {}, MINUTE],
    ['by max-age', { 'cache-control': 'public, max-age=300' }, 5 * MINUTE],
    ['less what a cache on the way has used up', { 'cache-control': 'max-age=600', age: '300' }, 5 * MINUTE],
    ['by Expires', { expires: new Date(Date.UTC(2026, 0, 1, 2)).toUTCString() }, 2 * HOUR],
    ['at least a minute', { 'cache-control': 'no-store' }, MINUTE],
    ['at least a minute, whatever is said', { 'cache-control': 'max-age=-5', expires: '0' }, MINUTE],
    ['at most a day', { 'cache-control': 'max-age=31536000, immutable' }, 24 * HOUR],
  ];
  for (const [what, headers, freshMs] of lifetimes) {
    test(`a document is used ${what}`, async () => {
      publish({}, headers);
      await find(url);
      publish({ client_name: 'Another' });
      clock.advance(freshMs - 1);
      assert.equal((await find(url)).clientName, 'Agent');
      clock.advance(1);
      assert.equal((await find(url)).clientName, 'Another');
      assert.equal(requests(), 2);
    });
  }

  test('an outage where the document lies logs nobody out for a day', async () => {
    publish();
    await find(url);
    server.answer(answers('', { status: 502 }));
    clock.advance(HOUR);
    assert.equal((await find(url)).clientName, 'Agent');
    clock.advance(23 * HOUR - 1);
    assert.equal((await find(url)).clientName, 'Agent');
    clock.advance(MINUTE);
    assert.equal((await failure()).statusCode, 503);
  });

  const unreadable: readonly (readonly [string, RequestListener])[] = [
    ['forbids', answers('<html>', { status: 403, 'content-type': 'text/html' })],
    ['says for a moment that there is nothing', answers('', { status: 404 })],
    ['shows a page', answers('<html>', { 'content-type': 'text/html' })],
    ['shows a page as JSON', answers('<html>')],
    ['leads elsewhere', answers('', { status: 302, location: 'https://login.example/' })],
    ['sends too much', answers('x'.repeat(65 * 1024))],
  ];
  for (const [what, listener] of unreadable) {
    test(`a server in front of the document that ${what} logs nobody out`, async () => {
      publish();
      await find(url);
      server.answer(listener);
      clock.advance(MINUTE);
      assert.equal((await find(url)).clientName, 'Agent');
      assert.equal((await find(url)).clientName, 'Agent');
      assert.equal(requests(), 2);
      clock.advance(24 * HOUR);
      assert.equal((await failure()).statusCode, 401);
    });
  }

  for (const status of [404, 410]) {
    test(`a document that is missing (${status}) for five minutes ends its client`, async () => {
      publish();
      await find(url);
      server.answer(answers('', { status }));
      clock.advance(MINUTE);
      assert.equal((await find(url)).clientName, 'Agent');
      server.answer(answers('', { status: 403 }));
      clock.advance(5 * MINUTE - 1);
      assert.equal((await find(url)).clientName, 'Agent');
      server.answer(answers('', { status }));
      clock.advance(10_000);
      assert.equal((await failure()).statusCode, 401);
      server.answer(answers('', { status: 502 }));
      clock.advance(10_000);
      assert.equal((await failure()).statusCode, 503);
    });
  }

  test('a document that was missing once, and was there since, is not gone', async () => {
    publish();
    await find(url);
    for (const isThere of [false, true, false]) {
      if (isThere) publish();
      else server.answer(answers('', { status: 404 }));
      clock.advance(3 * MINUTE);
      assert.equal((await find(url)).clientName, 'Agent');
    }
  });

  test('a document that is replaced by one that is refused ends its client', async () => {
    publish();
    await find(url);
    publish({ client_id: 'https://other.example/client.json' });
    clock.advance(MINUTE);
    assert.match((await failure()).error_description, /client_id is not the URL/);
    server.answer(answers('', { status: 502 }));
    clock.advance(10_000);
    assert.equal((await failure()).statusCode, 503);
  });

  test('keys are fetched with the document, and anew after ten minutes', async () => {
    const keys = (kid: string) => ({ keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid }] });
    const serve = (kid: string): void =>
      server.answer((request, response) => {
        const body =
          request.url === '/keys'
            ? keys(kid)
            : document({ token_endpoint_auth_method: 'private_key_jwt', jwks_uri: `${server.origin}/keys` });
        answers(JSON.stringify(body), { 'cache-control': 'max-age=86400' })(request, response);
      });
    serve('1');
    assert.deepEqual((await find(url)).jwks, keys('1'));
    serve('2');
    clock.advance(10 * MINUTE - 1);
    assert.deepEqual((await find(url)).jwks, keys('1'));
    clock.advance(1);
    assert.deepEqual((await find(url)).jwks, keys('2'));
  });

  test('what is remembered is bounded', async () => {
    server.answer((request, response) =>
      answers(JSON.stringify(document({ client_id: `${server.origin}${request.url}`, client_name: request.url })))(
        request,
        response,
      ),
    );
    const urlOf = (n: number): string => `${server.origin}/many/${n}`;
    for (let n = 0; n <= 500; n += 1) assert.equal((await find(urlOf(n))).clientName, `/many/${n}`);
    const before = server.requests.length;
    await find(urlOf(500));
    assert.equal(server.requests.length, before);
    await find(urlOf(0));
    assert.equal(server.requests.length, before + 1);
  });
});

test('under the policy for strangers, a document on this machine or in a private network is not fetched', async () => {
  const clock = frozenClock();
  const client = guardedFetch(fetchPolicies.stranger, { clock });
  const { find } = metadataDocuments({
    fetch: client.fetch,
    fetchInUse: client.fetch,
    marks: marksInMemory(clock),
    clock,
    waitMs: async () => 0,
  });
  for (const host of ['127.0.0.1', '[::1]', '10.0.0.1', '169.254.169.254', '[fd00::1]', '[::ffff:7f00:1]']) {
    await assert.rejects(find(`https://${host}/client.json`), (error: unknown) => {
      assert.ok(error instanceof ClientError);
      assert.equal(error.statusCode, 401);
      assert.doesNotMatch(error.error_description, /127|169|fd00|10\./);
      return true;
    });
  }
  await client.close();
});
