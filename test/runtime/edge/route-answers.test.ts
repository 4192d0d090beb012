import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { PublicRoutes } from '../../../runtime/edge/index.ts';
import { until } from '../../cluster/until.ts';
import { connectByHand } from '../../fixtures/by-hand.ts';
import { serveRoutes } from './routes-under-test.ts';

const APP = 'https://app.example.com';

describe('the answer of a route', () => {
  test('that refuses is sent at once, and takes no place while the client still sends', async (t) => {
    const { url, get, endpoint } = await serveRoutes(t, { bounds: { requests: 2 } });
    const { socket, text, isClosed } = connectByHand(t, url);
    const head = 'POST /fixture/small HTTP/1.1\r\nhost: evil.example.com\r\ncontent-type: application/json\r\n';
    socket.write(`${head}content-length: 1000\r\n\r\n{`);
    await until('the refusal', async () => text().includes('host_not_allowed') || undefined);
    assert.match(text(), /^HTTP\/1\.1 403 /);
    assert.match(text(), /\r\ncontent-type: application\/json/);
    await endpoint.idle();
    assert.equal(isClosed(), false);
    assert.equal((await get('/fixture/who')).status, 200);
    socket.write(' '.repeat(999));
    socket.write('GET /fixture/who HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await until('the next answer', async () => text().includes('HTTP/1.1 200 ') || undefined);
  });

  test('that the route writes itself has the headers of all others', async (t) => {
    const byItself: PublicRoutes = (app) => {
      app.get('/fixture/itself', (_request, reply) => {
        reply.hijack().raw.writeHead(200, { 'content-type': 'text/plain' }).end('itself');
      });
    };
    const { get } = await serveRoutes(t, { routes: [byItself], isLeaving: () => true });
    const { text, headers } = await get('/fixture/itself', { origin: APP });
    assert.deepEqual(
      [text, headers.get('access-control-allow-origin'), headers.get('connection')],
      ['itself', APP, 'close'],
    );
  });

  test('to OPTIONS is its own where it has one', async (t) => {
    const all: PublicRoutes = (app) => {
      app.all('/fixture/all', ({ method }) => method);
    };
    const { urlOf } = await serveRoutes(t, { routes: [all] });
    assert.equal(await (await fetch(urlOf('/fixture/all'), { method: 'OPTIONS' })).text(), 'OPTIONS');
  });
});
