import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { describe, test } from 'node:test';
import { FetchError } from '../../../runtime/http/fetch-error.ts';
import type { FetchRequest } from '../../../runtime/http/guarded-fetch.ts';
import { fails, fetchingOfEachTest } from '../../fixtures/guarded-fetch.ts';
import { freePortPair } from '../../fixtures/ports.ts';
import { writes } from '../../fixtures/plain-server.ts';

const fetching = fetchingOfEachTest();
const { open } = fetching;

describe('an error', () => {
  const SECRET = 'kd83jd92hf';

  test('of a server that is not there has the word of the system', async () => {
    const port = await freePortPair();
    await assert.rejects(open().fetch({ url: `http://127.0.0.1:${port}/` }), fails('network_error', 'ECONNREFUSED'));
  });

  for (const [what, pieces] of [
    ['no HTTP', [`SECRET ${SECRET}\r\n\r\n`]],
    ['two lengths', [`HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\nx: ${SECRET}\r\n\r\n`]],
    ['a broken chunk', [`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${SECRET}\r\n`]],
  ] as const)
    test(`of an answer that is malformed (${what}) holds nothing of it`, async () => {
      fetching.server.answer(writes(...pieces));
      await assert.rejects(open().fetch({ url: fetching.server.origin }), (error) => {
        fails('network_error')(error);
        assert.doesNotMatch(inspect(error, { depth: 9 }), new RegExp(SECRET));
        return true;
      });
    });

  test('of an answer that was cut off is a network error', async () => {
    fetching.server.answer((_request, response) => {
      response.writeHead(200, { 'content-length': 10 });
      response.write('half', () => response.destroy());
    });
    await assert.rejects(open().fetch({ url: fetching.server.origin }), fails('network_error'));
  });

  const failing: readonly (readonly [what: string, request: FetchRequest])[] = [
    ['a refused URL', { url: `http://${SECRET}:${SECRET}@a.example/?${SECRET}` }],
    ['no URL', { url: `http://[${SECRET}]/` }],
    ['a refused address', { url: `http://169.254.169.254/${SECRET}?${SECRET}`, headers: { authorization: SECRET } }],
    ['a malformed header', { url: 'http://127.0.0.1/', headers: { authorization: `${SECRET}\r\n` } }],
    ['a refused connection', { url: `http://127.0.0.1:1/${SECRET}`, method: 'POST', body: SECRET }],
  ];
  for (const [what, request] of failing)
    test(`because of ${what} holds nothing of the URL but its origin, of headers or of bodies`, async () => {
      await assert.rejects(open().fetch(request), (error) => {
        assert.ok(error instanceof FetchError);
        assert.doesNotMatch(inspect(error, { depth: 9 }) + JSON.stringify(error), new RegExp(SECRET));
        return true;
      });
    });

  test('because of a redirect says neither where it leads nor what was asked for', async () => {
    fetching.server.answer(
      (_request, response) => void response.writeHead(302, { location: `https://${SECRET}/` }).end(SECRET),
    );
    await assert.rejects(open().fetch({ url: `${fetching.server.origin}/?${SECRET}` }), (error) => {
      assert.ok(error instanceof FetchError);
      assert.equal(error.origin, fetching.server.origin);
      assert.doesNotMatch(inspect(error, { depth: 9 }), new RegExp(SECRET));
      return true;
    });
  });
});
