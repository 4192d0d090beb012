import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { errorOf } from '../../fixtures/answers.ts';
import { postAs } from '../../fixtures/post-as.ts';
import { answerOf, INITIALIZE, post } from '../../fixtures/raw-client.ts';
import { startEndpoint } from './endpoint-under-test.ts';

const { running, session } = await startEndpoint({
  extensions: { allowedHosts: ['tools.example.com'], allowedOrigins: ['https://app.example.com'] },
});

describe('HTTP', () => {
  test('PUT is 405 and tells what is allowed', async () => {
    const answer = await answerOf(await fetch(running.url, { method: 'PUT', body: '{}' }));
    assert.equal(answer.status, 405);
    assert.equal(answer.headers.get('allow'), 'POST, GET, DELETE, OPTIONS');
  });

  test('GET opens a stream of a session, and nothing else', async () => {
    const open = (headers: Record<string, string>) => fetch(running.url, { headers });
    assert.equal((await open({ accept: 'text/html', 'mcp-session-id': session.id })).status, 406);
    assert.equal((await open({ accept: 'text/event-stream' })).status, 400);
    assert.equal((await open({ accept: 'text/event-stream', 'mcp-session-id': 'nobody' })).status, 404);
    const streams = await Promise.all(
      Array.from({ length: 4 }, () => open({ accept: 'text/event-stream', 'mcp-session-id': session.id })),
    );
    for (const stream of streams) assert.equal(stream.headers.get('content-type'), 'text/event-stream');
    const fifth = await answerOf(await open({ accept: 'text/event-stream', 'mcp-session-id': session.id }));
    assert.equal(fifth.status, 429);
    assert.equal(fifth.headers.get('retry-after'), '10');
    assert.equal(errorOf(fifth).data.reason, 'busy');
    for (const stream of streams) await stream.body?.cancel();
  });

  test('the endpoint answers at / and /mcp/ too', async () => {
    assert.equal((await post(new URL('/', running.url).href, INITIALIZE)).status, 200);
    assert.equal((await post(`${running.url}?x=1`, INITIALIZE)).status, 200);
    assert.equal((await post(`${running.url}/`, INITIALIZE)).status, 200);
  });

  test('any other path is 404', async () => {
    const { status, json } = await post(new URL('/mcp2', running.url).href, INITIALIZE);
    assert.equal(status, 404);
    const { error, correlationId } = json as Record<string, string>;
    assert.equal(error, 'not_found');
    assert.match(correlationId ?? '', /^[0-9a-f-]{36}$/);
  });

  test('/health is open', async () => {
    assert.deepEqual(await (await fetch(new URL('/health', running.url))).json(), { status: 'ok' });
  });
});

describe('Host and Origin', () => {
  test('a foreign Host is refused with 403 and the remedy', async () => {
    const { status, body } = await postAs(running.url, INITIALIZE, { host: 'evil.example.com' });
    assert.equal(status, 403);
    assert.match(body, /extensions\.allowedHosts/);
  });

  test('a listed Host is served', async () => {
    assert.equal((await postAs(running.url, INITIALIZE, { host: 'tools.example.com' })).status, 200);
  });

  test('a foreign Origin is refused with 403, without CORS headers', async () => {
    const answer = await post(running.url, INITIALIZE, { origin: 'https://evil.example.com' });
    assert.equal(answer.status, 403);
    assert.equal(answer.headers.get('access-control-allow-origin'), null);
  });

  test('an allowed Origin gets CORS answers, also on refusals', async () => {
    const origin = 'https://app.example.com';
    const answer = await post(running.url, INITIALIZE, { origin });
    assert.equal(answer.headers.get('access-control-allow-origin'), origin);
    assert.match(answer.headers.get('access-control-expose-headers') ?? '', /Mcp-Session-Id/);
    const refused = await post(running.url, '{', { origin });
    assert.equal(refused.headers.get('access-control-allow-origin'), origin);
  });

  test('a preflight is answered', async () => {
    const headers = { origin: 'https://app.example.com', 'access-control-request-method': 'POST' };
    const answer = await fetch(running.url, { method: 'OPTIONS', headers });
    assert.equal(answer.status, 204);
    assert.match(answer.headers.get('access-control-allow-headers') ?? '', /mcp-session-id/);
    assert.match(answer.headers.get('access-control-allow-methods') ?? '', /POST/);
  });

  test('a preflight allows the headers that repeat arguments of a tool, and no others', async () => {
    const asked = 'content-type,mcp-param-region, Mcp-Param-user_id,mcp-param-,mcp-param-a(b),x-other';
    const headers = { origin: 'https://app.example.com', 'access-control-request-headers': asked };
    const answer = await fetch(running.url, { method: 'OPTIONS', headers });
    const allowed = (answer.headers.get('access-control-allow-headers') ?? '').split(', ');
    assert.deepEqual(allowed.slice(-3), ['mcp-session-id', 'mcp-param-region', 'mcp-param-user_id']);
  });

  test('a preflight allows 32 headers that repeat arguments, and no more', async () => {
    const asked = Array.from({ length: 40 }, (_, place) => `mcp-param-${place}`);
    const headers = { origin: 'https://app.example.com', 'access-control-request-headers': asked.join(',') };
    const answer = await fetch(running.url, { method: 'OPTIONS', headers });
    const allowed = (answer.headers.get('access-control-allow-headers') ?? '').split(', ');
    assert.deepEqual(allowed.slice(-33), ['mcp-session-id', ...asked.slice(0, 32)]);
  });
});
