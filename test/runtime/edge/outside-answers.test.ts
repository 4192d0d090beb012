import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { VmcpError } from '../../../runtime/errors.ts';
import { connectByHand, postBytes } from '../../fixtures/by-hand.ts';
import { DONE, serveEndpoint } from '../../fixtures/endpoint.ts';
import { postAs } from '../../fixtures/post-as.ts';
import { serveRoutes } from './routes-under-test.ts';

describe('observers get an answer that the pipeline does not make', () => {
  test('the refusal of a foreign Host, of a media type and of a method at the endpoint', async (t) => {
    const { url, outside } = await serveEndpoint(t, () => DONE);
    await postAs(url, {}, { host: 'evil.example.com' });
    await fetch(`${url}?token=secret`, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{}' });
    await fetch(url, { method: 'PUT' });
    assert.deepEqual(outside, [
      '403 POST /mcp host_not_allowed',
      '415 POST /mcp unsupported_media_type',
      '405 PUT /mcp http_method_not_allowed',
    ]);
  });

  test('not of one that the pipeline makes, be it a refusal', async (t) => {
    const { ask, outside } = await serveEndpoint(t, () => {
      throw new VmcpError('not_json', 'no JSON');
    });
    assert.equal((await ask('192.0.2.1')).status, 400);
    assert.deepEqual(outside, []);
  });

  test('the answers of a route and its refusals, each once, but no preflight', async (t) => {
    const { get, urlOf, outside } = await serveRoutes(t);
    await get('/fixture/who?token=secret');
    await get('/fixture/error/broken');
    await get('/fixture/elsewhere');
    await fetch(urlOf('/fixture/small'), { method: 'OPTIONS' });
    // Refused before the body has come, so past the hooks of the route.
    const { socket, closed } = connectByHand(t, urlOf('/'));
    socket.write(postBytes('x', {}, { path: '/fixture/small', announced: 3_000 }));
    socket.on('data', () => socket.destroy());
    await closed;
    assert.deepEqual(outside, [
      '200 GET /fixture/who undefined',
      '500 GET /fixture/error/broken internal',
      '404 GET /fixture/elsewhere not_found',
      '413 POST /fixture/small body_too_large',
    ]);
  });

  test('of unknown paths, and of those that are not valid percent-encoding', async (t) => {
    const { url, outside } = await serveEndpoint(t, () => DONE);
    assert.equal((await fetch(new URL('/nothing', url))).status, 404);
    const answer = await fetch(new URL('/%zz', url));
    assert.equal(answer.status, 404);
    assert.equal(((await answer.json()) as { error: string }).error, 'not_found');
    assert.deepEqual(outside, ['404 GET /nothing not_found', '404 GET /%zz not_found']);
  });
});
