import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { fails, fetchingOfEachTest, resolvesTo } from '../../fixtures/guarded-fetch.ts';
import { writes } from '../../fixtures/plain-server.ts';

const fetching = fetchingOfEachTest();
const { open } = fetching;

describe('an answer', () => {
  test('has its status, its headers and its whole body', async () => {
    fetching.server.answer((_request, response) => {
      response.writeHead(201, { 'content-type': 'application/json', 'x-two': ['a', 'b'] });
      response.write('{"a":');
      response.end('1}');
    });
    const { status, headers, body } = await open().fetch({ url: `${fetching.server.origin}/` });
    assert.equal(status, 201);
    assert.equal(headers['content-type'], 'application/json');
    assert.deepEqual(headers['x-two'], ['a', 'b']);
    assert.equal(body.toString(), '{"a":1}');
  });

  for (const status of [204, 304, 400, 401, 404, 429, 500, 503])
    test(`may be a ${status}`, async () => {
      fetching.server.answer((_request, response) => void response.writeHead(status).end());
      assert.equal((await open().fetch({ url: fetching.server.origin })).status, status);
    });

  test('is what follows informational ones', async () => {
    fetching.server.answer(
      writes('HTTP/1.1 103 Early Hints\r\n\r\n', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'),
    );
    assert.equal((await open().fetch({ url: fetching.server.origin })).status, 200);
  });
});

describe('a request', () => {
  test('goes out with its method, path, query, headers and body, and no fragment', async () => {
    await open().fetch({
      url: `${fetching.server.origin}/token?tenant=a%20b#part`,
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: 'Basic eDp5' },
      body: 'grant_type=client_credentials',
    });
    const [{ request, body } = assert.fail()] = fetching.server.requests;
    assert.equal(request.method, 'POST');
    assert.equal(request.url, '/token?tenant=a%20b');
    assert.equal(request.headers.host, `127.0.0.1:${fetching.server.port}`);
    assert.equal(request.headers.authorization, 'Basic eDp5');
    assert.equal(request.headers['content-type'], 'application/x-www-form-urlencoded');
    assert.equal(request.headers['accept-encoding'], 'identity');
    assert.equal(body, 'grant_type=client_credentials');
  });

  test('is a GET where it says nothing else', async () => {
    await open().fetch({ url: fetching.server.origin });
    assert.equal(fetching.server.requests[0]?.request.method, 'GET');
  });

  for (const name of ['host', 'Host'])
    test(`cannot name another host in "${name}"`, async () => {
      const request = { url: fetching.server.origin, headers: { [name]: 'other.example' } };
      await assert.rejects(open().fetch(request), fails('invalid_request'));
      assert.equal(fetching.server.sockets.length, 0);
    });

  for (const headers of [{ authorization: 'Bearer a\r\nx: y' }, { 'x y': 'z' }, { 'transfer-encoding': 'chunked' }])
    test(`with the headers ${JSON.stringify(headers)} is not sent`, async () => {
      await assert.rejects(open().fetch({ url: fetching.server.origin, headers }), fails('invalid_request'));
      assert.equal(fetching.server.requests.length, 0);
    });
});

describe('connections', () => {
  test('are kept alive and shared by what goes to one origin', async () => {
    const { fetch } = open();
    for (const path of ['/a', '/b', '/c', '/d', '/e']) await fetch({ url: fetching.server.origin + path });
    // Undici takes a connection again one turn of the event loop after its answer; a request that comes sooner gets a
    // second one.
    assert.ok(fetching.server.sockets.length <= 2);
  });

  test('are no more than the policy says: what comes beside waits', async () => {
    const { fetch } = open({ connections: 2 });
    const bodies = await Promise.all(
      Array.from({ length: 10 }, async () => (await fetch({ url: fetching.server.origin })).body.toString()),
    );
    assert.deepEqual(bodies, Array<string>(10).fill('ok'));
    assert.equal(fetching.server.sockets.length, 2);
  });

  test('of the origin used longest ago go when there are too many origins', async () => {
    const { fetch } = open({ origins: 2 }, resolvesTo(['127.0.0.1']).resolve);
    const at = (name: string): string => `http://${name}.example:${fetching.server.port}/`;
    await fetch({ url: at('a') });
    await fetch({ url: at('b') });
    await fetch({ url: at('a') });
    const gone = once(fetching.server.sockets[1] ?? assert.fail(), 'close');
    await fetch({ url: at('c') });
    await gone;
    await fetch({ url: at('a') });
    assert.equal(fetching.server.sockets.length, 3);
  });

  test('of an origin that is in use stay, and one origin more is refused', async () => {
    const { fetch } = open({ origins: 1 }, resolvesTo(['127.0.0.1']).resolve);
    fetching.server.answer(() => {});
    const [coming, answer] = [fetching.server.next(), fetch({ url: `http://a.example:${fetching.server.port}/` })];
    const response = await coming;
    await assert.rejects(fetch({ url: `http://b.example:${fetching.server.port}/` }), fails('busy'));
    response.end('ok');
    assert.equal((await answer).status, 200);
    fetching.server.answer((_request, next) => void next.end());
    assert.equal((await fetch({ url: `http://b.example:${fetching.server.port}/` })).status, 200);
  });

  test('carry no more requests than the policy says, those that wait included', async () => {
    const { fetch } = open({ connections: 1, requests: 2 });
    fetching.server.answer(() => {});
    const [coming, first] = [fetching.server.next(), fetch({ url: fetching.server.origin })];
    const second = fetch({ url: fetching.server.origin });
    await assert.rejects(fetch({ url: fetching.server.origin }), fails('busy'));
    fetching.server.answer((_request, response) => void response.end());
    (await coming).end();
    assert.deepEqual([(await first).status, (await second).status], [200, 200]);
    assert.equal((await fetch({ url: fetching.server.origin })).status, 200);
  });
});

describe('closing', () => {
  test('breaks off what is under way and what waits, and ends the connections', async () => {
    const client = open({ connections: 1 });
    fetching.server.answer(() => {});
    const coming = fetching.server.next();
    const under = assert.rejects(client.fetch({ url: fetching.server.origin }), fails('closed'));
    const waits = assert.rejects(client.fetch({ url: fetching.server.origin }), fails('closed'));
    await coming;
    const gone = once(fetching.server.sockets[0] ?? assert.fail(), 'close');
    await client.close();
    await Promise.all([under, waits, gone]);
  });

  test('ends connections that are kept alive', async () => {
    const client = open();
    await client.fetch({ url: fetching.server.origin });
    const gone = once(fetching.server.sockets[0] ?? assert.fail(), 'close');
    await client.close();
    await gone;
  });

  test('is for good, and may be done twice', async () => {
    const client = open();
    await client.close();
    await client.close();
    await assert.rejects(client.fetch({ url: fetching.server.origin }), fails('closed'));
  });
});
