import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ByteBudget } from '../../../runtime/process/byte-budget.ts';
import type { PublicRoutes } from '../../../runtime/edge/index.ts';
import { LIMITS } from '../../../runtime/limits.ts';
import { connectByHand, postBytes } from '../../fixtures/by-hand.ts';
import { postAs } from '../../fixtures/post-as.ts';
import { post } from '../../fixtures/raw-client.ts';
import { LARGE, serveRoutes } from './routes-under-test.ts';

const APP = 'https://app.example.com';
const OTHER = 'https://evil.example.com';

const from = (address: string) => ({ 'x-forwarded-for': address });

const KIB = 1024;
const MIB = 1024 * KIB;

describe('a route beside MCP', () => {
  test('gets the address of the sender, behind proxies that are trusted', async (t) => {
    const { get } = await serveRoutes(t);
    const { json } = await get('/fixture/who', { ...from('192.0.2.7'), 'user-agent': 'me' });
    assert.deepEqual(json, { http: 'GET', clientAddress: '192.0.2.7', agent: 'me', correlationId: 'c' });
  });

  test('gets only the address of the connection where no proxy is trusted', async (t) => {
    const { get } = await serveRoutes(t, { hosts: { trustedProxies: [] } });
    const { json } = await get('/fixture/who', from('192.0.2.7'));
    assert.equal((json as { clientAddress: string }).clientAddress, '127.0.0.1');
  });

  test('is not reached under a foreign Host', async (t) => {
    const { urlOf, failures } = await serveRoutes(t);
    const refused = await postAs(urlOf('/fixture/small'), {}, { host: 'evil.example.com' });
    assert.equal(refused.status, 403);
    assert.equal((JSON.parse(refused.body) as { error: string }).error, 'host_not_allowed');
    assert.equal(failures[0]?.error.code, 'host_not_allowed');
    assert.equal((await postAs(urlOf('/fixture/small'), {}, { host: 'tools.example.com' })).status, 200);
  });

  test('is not reached from a foreign web page', async (t) => {
    const { get } = await serveRoutes(t);
    const refused = await get('/fixture/who', { origin: OTHER });
    assert.equal(refused.status, 403);
    assert.equal((refused.json as { error: string }).error, 'origin_not_allowed');
    assert.equal(refused.headers.get('access-control-allow-origin'), null);
  });

  test('may be read by a web page of an allowed origin, also where it refuses', async (t) => {
    const { get } = await serveRoutes(t);
    for (const path of ['/fixture/who', '/fixture/error/token', '/fixture/error/broken']) {
      const { headers } = await get(path, { origin: APP });
      assert.equal(headers.get('access-control-allow-origin'), APP, path);
      assert.match(headers.get('access-control-expose-headers') ?? '', /WWW-Authenticate/);
      assert.equal(headers.get('vary'), 'Origin');
    }
  });

  test('has its own methods in the answer to a preflight', async (t) => {
    const { urlOf } = await serveRoutes(t);
    const ask = (path: string, origin: string) => fetch(urlOf(path), { method: 'OPTIONS', headers: { origin } });
    for (const [path, methods] of [
      ['/fixture/small', 'POST, PUT'],
      ['/fixture/who', 'GET, HEAD'],
      ['/fixture/error/any', 'GET, HEAD'],
    ] as const) {
      const { status, headers } = await ask(path, APP);
      assert.equal(status, 204);
      assert.equal(headers.get('access-control-allow-methods'), methods);
      assert.match(headers.get('access-control-allow-headers') ?? '', /authorization/);
      assert.equal(headers.get('access-control-allow-origin'), APP);
    }
    assert.equal((await ask('/fixture/small', OTHER)).status, 403);
    assert.equal((await ask('/fixture/none', APP)).status, 404);
  });

  test('does not start with a larger bodyLimit than there may be', async (t) => {
    const greedy: PublicRoutes = (app) => {
      app.post('/fixture/greedy', { bodyLimit: LIMITS.routeBodyBytes + 1 }, () => '');
    };
    await assert.rejects(serveRoutes(t, { routes: [greedy] }), /\/fixture\/greedy asks for a bodyLimit of 65537/);
  });

  test('guards no other: /health and unknown paths answer every Host', async (t) => {
    const { urlOf, get } = await serveRoutes(t, { bounds: { requests: 0 } });
    assert.equal((await get('/fixture/who')).status, 503);
    assert.deepEqual((await get('/health', { origin: OTHER })).json, { status: 'ok' });
    const { status, body } = await postAs(urlOf('/nothing'), {}, { host: 'evil.example.com' });
    assert.equal(status, 404);
    assert.deepEqual(JSON.parse(body), {
      error: 'not_found',
      error_description: 'nothing is served here; the MCP endpoint is /mcp',
      correlationId: 'c',
    });
  });
});

describe('requests to routes', () => {
  test('are counted with those to MCP', async (t) => {
    const { get, ask, begun, release } = await serveRoutes(t, { bounds: { requests: 4 } });
    const slow = [get('/fixture/slow', from('192.0.2.1')), get('/fixture/slow', from('192.0.2.1'))];
    await begun(2);
    assert.equal((await ask('192.0.2.1')).status, 503);
    const refused = await get('/fixture/who', from('192.0.2.1'));
    assert.equal(refused.status, 503);
    assert.equal(refused.headers.get('retry-after'), '1');
    assert.equal(refused.headers.get('connection'), 'close');
    assert.equal((refused.json as { error: string }).error, 'overloaded');
    assert.equal((await ask('192.0.2.2')).status, 200);
    assert.equal((await get('/fixture/who', from('192.0.2.2'))).status, 200);
    release();
    assert.deepEqual(
      (await Promise.all(slow)).map(({ text }) => text),
      ['slow', 'slow'],
    );
    assert.equal((await ask('192.0.2.1')).status, 200);
  });

  test('count although their client has hung up', async (t) => {
    const { url, ask, begun, release, endpoint } = await serveRoutes(t, { bounds: { requests: 2 } });
    const { socket, closed } = connectByHand(t, url);
    socket.write('GET /fixture/slow HTTP/1.1\r\nhost: localhost\r\nx-forwarded-for: 192.0.2.1\r\n\r\n');
    await begun(1);
    socket.destroy();
    await closed;
    assert.equal((await ask('192.0.2.1')).status, 503);
    release();
    await endpoint.idle();
    assert.equal((await ask('192.0.2.1')).status, 200);
  });

  test('count no longer however they were answered', async (t) => {
    const { get, ask, endpoint } = await serveRoutes(t, { bounds: { requests: 2 } });
    for (const path of ['who', 'error/token', 'error/broken', 'elsewhere', 'who', 'error/broken'])
      await get(`/fixture/${path}`, from('192.0.2.1'));
    await endpoint.idle();
    assert.equal((await ask('192.0.2.1')).status, 200);
  });

  test('are waited for when the runtime stops, and end their connections', async (t) => {
    let isLeaving = false;
    const { get, begun, release, endpoint } = await serveRoutes(t, { isLeaving: () => isLeaving });
    const early = await get('/fixture/who');
    assert.notEqual(early.headers.get('connection'), 'close');
    const slow = get('/fixture/slow');
    await begun(1);
    isLeaving = true;
    let isIdle = false;
    const idle = endpoint.idle().then(() => {
      isIdle = true;
    });
    assert.equal((await get('/fixture/error/broken')).headers.get('connection'), 'close');
    assert.equal(isIdle, false);
    release();
    const late = await slow;
    assert.equal(late.text, 'slow');
    assert.equal(late.headers.get('connection'), 'close');
    await idle;
  });
});

describe('the room', () => {
  const body = 'y'.repeat(40 * KIB);
  const json = JSON.stringify(body);

  test('is shared by bodies to routes and to MCP, until their answers are sent', async (t) => {
    const bodies = new ByteBudget(160 * KIB);
    const { urlOf, ask, begun, release, endpoint } = await serveRoutes(t, { bodies });
    const slow = post(urlOf('/fixture/slow'), json, from('192.0.2.1'));
    await begun(1);
    assert.equal(bodies.taken, json.length);
    assert.equal((await ask('192.0.2.1', body)).status, 503);
    assert.equal((await post(urlOf('/fixture/slow'), json, from('192.0.2.1'))).status, 503);
    assert.equal((await ask('192.0.2.2', body)).status, 200);
    release();
    assert.equal((await slow).status, 200);
    await endpoint.idle();
    assert.equal(bodies.taken, 0);
  });

  test('is given back for clients that hang up while they send', async (t) => {
    const bodies = new ByteBudget(160 * KIB);
    const { url, endpoint } = await serveRoutes(t, { bodies });
    const { socket } = connectByHand(t, url);
    socket.write(postBytes(body, {}, { path: '/fixture/slow', announced: body.length + 1 }));
    while (bodies.taken === 0) await new Promise((resolve) => setImmediate(resolve));
    socket.destroy();
    await endpoint.idle();
    assert.equal(bodies.taken, 0);
  });

  test('counts a body whatever parser the route has for it', async (t) => {
    const bodies = new ByteBudget(40 * KIB);
    const { urlOf } = await serveRoutes(t, { bodies });
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    assert.equal((await post(urlOf('/fixture/form'), `a=${body}`, form)).status, 503);
    const { text } = await post(urlOf('/fixture/form'), `a=${'y'.repeat(10 * KIB)}`, form);
    assert.equal(text, String(10 * KIB));
  });

  test('is not taken for a body that is too large for its route', async (t) => {
    const { urlOf } = await serveRoutes(t, { bodies: new ByteBudget(0) });
    assert.equal((await post(urlOf('/fixture/small'), json)).status, 413);
  });

  test('is shared by their answers', async (t) => {
    const answers = new ByteBudget(16 * MIB);
    const { get, failures, endpoint } = await serveRoutes(t, { answers });
    const refused = await get('/fixture/large');
    assert.equal(refused.status, 503);
    assert.equal(failures[0]?.error.code, 'overloaded');
    await endpoint.idle();
    assert.equal(answers.taken, 0);
  });

  test('is not kept by clients that take nothing', async (t) => {
    const answers = new ByteBudget(64 * MIB);
    const { url, endpoint } = await serveRoutes(t, { answers, bounds: { stallMs: 50 } });
    const { socket } = connectByHand(t, url);
    socket.pause();
    socket.write('GET /fixture/large HTTP/1.1\r\nhost: localhost\r\n\r\n');
    while (answers.taken === 0) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(answers.taken, LARGE.length);
    await endpoint.idle();
    assert.equal(answers.taken, 0);
  });
});

describe('what a route refuses', () => {
  const rows = [
    ['forbidden', 403, { error: 'forbidden', error_description: 'this is not allowed' }, {}],
    ['limited', 429, { error: 'rate_limited', error_description: 'too many' }, { 'retry-after': '2' }],
    [
      'token',
      401,
      { error: 'invalid_token', error_description: 'a token is needed' },
      { 'www-authenticate': 'Bearer scope="a"' },
    ],
    ['broken', 500, { error: 'internal', error_description: 'internal error' }, {}],
  ] as const;
  for (const [kind, status, told, headers] of rows)
    test(`has the row of the table: ${told.error}`, async (t) => {
      const { get, failures } = await serveRoutes(t);
      const answer = await get(`/fixture/error/${kind}`, from('192.0.2.7'));
      assert.equal(answer.status, status);
      assert.deepEqual(answer.json, { ...told, correlationId: 'c' });
      for (const [name, value] of Object.entries(headers)) assert.equal(answer.headers.get(name), value);
      const [failure] = failures;
      assert.deepEqual(
        { ...failure, error: failure?.error.code },
        { error: told.error, clientAddress: '192.0.2.7', correlationId: 'c' },
      );
    });

  const bodies = [
    ['too much, as it says', JSON.stringify('x'.repeat(KIB)), {}, 413, 'body_too_large'],
    ['no JSON', '{', {}, 400, 'not_json'],
    ['nothing', '', {}, 400, 'not_json'],
    ['of another media type', '<a/>', { 'content-type': 'text/xml' }, 415, 'unsupported_media_type'],
  ] as const;
  for (const [what, body, headers, status, error] of bodies)
    test(`may be a body that is ${what}: ${status}`, async (t) => {
      const { urlOf } = await serveRoutes(t);
      const answer = await post(urlOf('/fixture/small'), body, headers);
      assert.equal(answer.status, status);
      assert.equal((answer.json as { error: string }).error, error);
    });

  test('may be a body in chunks, whose client sends all of it before it reads', async (t) => {
    const { url } = await serveRoutes(t);
    const { socket, closed, text } = connectByHand(t, url);
    const chunk = `100000\r\n${'x'.repeat(MIB)}\r\n`;
    socket.pause();
    const head = postBytes('', {}, { path: '/fixture/small' }).replace(
      'content-length: 0',
      'transfer-encoding: chunked',
    );
    await new Promise((resolve) => socket.write(`${head}${chunk.repeat(6)}0\r\n\r\n`, resolve));
    socket.resume();
    await closed;
    assert.match(text(), /^HTTP\/1\.1 413 .*"error":"body_too_large"/s);
  });
});
