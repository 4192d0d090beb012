import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bodyLength, bodyOf, type PageReply } from '../../../runtime/call/index.ts';
import { ByteBudget } from '../../../runtime/process/byte-budget.ts';
import { serveEndpoint } from '../../fixtures/endpoint.ts';

const pageOf = (tools: number): Buffer =>
  Buffer.from(
    JSON.stringify({
      tools: Array.from({ length: tools }, (_, index) => ({ name: `tool_${index}`, description: 'größer ☃' })),
    }),
  );

const IDS = ['1', '"a"', '"é☃\\u2603"', '-1.5e3'];

const post = (url: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(url, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json', ...headers } });

describe('a page of a list', () => {
  for (const tools of [0, 3, 1_000])
    for (const id of IDS)
      test(`of ${tools} tools is the result of the request ${id}, byte for byte`, async (t) => {
        const page = pageOf(tools);
        const before = Buffer.from(page);
        const reply: PageReply = { kind: 'page', id: Buffer.from(id), page };
        const { url } = await serveEndpoint(t, () => reply);
        const wanted = Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${page.toString()}}`);
        const answers = await Promise.all(Array.from({ length: 5 }, () => post(url)));
        for (const answer of answers) {
          assert.equal(answer.status, 200);
          assert.equal(answer.headers.get('content-type'), 'application/json');
          assert.equal(answer.headers.get('content-length'), String(wanted.length));
          assert.deepEqual(Buffer.from(await answer.arrayBuffer()), wanted);
        }
        assert.deepEqual([bodyOf(reply), bodyLength(reply)], [wanted, wanted.length]);
        assert.deepEqual(page, before);
      });

  test('has the headers of all answers', async (t) => {
    const reply: PageReply = { kind: 'page', id: Buffer.from('1'), page: pageOf(1_000) };
    const { url } = await serveEndpoint(t, () => reply, { isLeaving: () => true });
    const origin = new URL(url).origin;
    const { headers } = await post(url, { origin });
    assert.deepEqual([headers.get('connection'), headers.get('access-control-allow-origin')], ['close', origin]);
  });

  test('needs its room, as every answer does', async (t) => {
    const reply: PageReply = { kind: 'page', id: Buffer.from('1'), page: pageOf(10_000) };
    const { url } = await serveEndpoint(t, () => reply, { answers: new ByteBudget(10_000) });
    const { status } = await post(url);
    assert.equal(status, 503);
  });
});
