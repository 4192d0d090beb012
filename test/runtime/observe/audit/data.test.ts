import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { keptData } from '../../../../runtime/observe/audit/kept-data.ts';
import { redactedText, secrecyOfKeys } from '../../../../runtime/observe/audit/redaction.ts';
import { covers } from '../../../requirements.ts';
import { answerJson, textResult } from '../../../fixtures/backend.ts';
import { postBytes, connectByHand } from '../../../fixtures/by-hand.ts';
import { openSession, post } from '../../../fixtures/raw-client.ts';
import { shortly, startAudited } from './audited.ts';

const JWT = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl';

describe('request and response data', () => {
  covers('audit.request-data.default-false', 'audit.response-data.default-false');
  test('are in no event unless they are wanted', async (t) => {
    const { url, events } = await startAudited(t);
    await (await openSession(url)).call('a_t', { marker: 'in-the-arguments' });
    const log = await events();
    assert.ok(!JSON.stringify(log).includes('in-the-arguments'));
    assert.ok(log.every(({ data }) => data === undefined));
  });

  covers('audit.request-data.included');
  test('of the request are there where they are wanted, as JSON', async (t) => {
    const { url, events } = await startAudited(t, { audit: { includeRequestData: true } });
    await (await openSession(url)).call('a_t', { marker: 'ü\u2028', big: 12_345_678_901_234 });
    const { data } = (await events()).at(-1) ?? assert.fail();
    assert.deepEqual(data, {
      request: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'a_t', arguments: { marker: 'ü\u2028', big: 12_345_678_901_234 } },
      },
    });
  });

  covers('audit.response-data.included');
  test('of the response are there where they are wanted, as JSON', async (t) => {
    const { url, events } = await startAudited(t, { audit: { includeResponseData: true } });
    await (await openSession(url)).call('a_t');
    const { data } = (await events()).at(-1) ?? assert.fail();
    assert.deepEqual(data, {
      response: { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: 't {}' }] } },
    });
  });

  covers('audit.max-data-size.default', 'audit.max-data-size.request', 'audit.max-data-size.response');
  test('are cut at maxDataSize, by default 1024 bytes, between characters, and say so', async (t) => {
    const on = ({ recorded: { method } }: { readonly recorded: { readonly method: string | undefined } }) =>
      method === 'tools/call' ? answerJson(textResult('ö'.repeat(3_000))) : undefined;
    for (const maxDataSize of [undefined, 99, 0]) {
      const audit = { includeRequestData: true, includeResponseData: true, maxDataSize };
      const { url, events } = await startAudited(t, { audit, backend: { tools: ['t'], on } });
      await (await openSession(url)).call('a_t', { long: '√'.repeat(2_000) });
      const { data } = (await events()).at(-1) ?? assert.fail();
      for (const key of ['request', 'response'] as const) {
        const text = data?.[key];
        assert.ok(typeof text === 'string', 'what is cut is a text');
        const bytes = Buffer.byteLength(text);
        assert.ok(bytes <= (maxDataSize ?? 1_024) && bytes >= (maxDataSize ?? 1_024) - 2, `${bytes}`);
        assert.ok(!text.includes('\ufffd'));
        assert.equal(data?.[`${key}_truncated`], true);
      }
    }
  });

  test('hold no secrets, by name or by form, in requests and answers', async (t) => {
    const answered = textResult(`the key is sk-abcdefghijklmnopqrstuvwx and {"password": "hunter2"}`);
    const on = ({ recorded: { method } }: { readonly recorded: { readonly method: string | undefined } }) =>
      method === 'tools/call' ? answerJson(answered) : undefined;
    const audit = { includeRequestData: true, includeResponseData: true, maxDataSize: 8_192 };
    const extensions = { audit: { redact: ['Konto-Nummer'] } };
    const { url, events } = await startAudited(t, { audit, extensions, backend: { tools: ['t'], on } });
    const session = await openSession(url);
    await session.send(
      {
        jsonrpc: '2.0',
        id: 5,
        method: 'tools/call',
        params: {
          name: 'a_t',
          arguments: {
            password: 'hunter2',
            API_KEY: ['hunter2'],
            'access-token': { value: 'hunter2' },
            kontonummer: 'hunter2',
            note: `use ${JWT} or Bearer hunter2hunter2`,
            url: 'https://bob:hunter2@db.example/?sig=1&access_token=hunter2',
            maxTokens: 7,
            tokens: 9,
          },
          _meta: { progressToken: 'p-1' },
        },
      },
      { authorization: 'Bearer hunter2-in-a-header' },
    );
    const log = await events();
    assert.ok(!/hunter2|eyJ|sk-abc/.test(JSON.stringify(log)), JSON.stringify(log.at(-1)?.data));
    const request = log.at(-1)?.data?.['request'] ?? assert.fail();
    const { params } = request as {
      readonly params: { readonly arguments: Readonly<Record<string, unknown>>; readonly _meta: object };
    };
    assert.equal(params.arguments['password'], '[redacted]');
    assert.equal(params.arguments['maxTokens'], 7);
    assert.equal(params.arguments['tokens'], 9);
    assert.deepEqual(params._meta, { progressToken: 'p-1' });
  });
});

describe('redaction', () => {
  const keep = (value: unknown, maxBytes = 4_096) =>
    keptData(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)), {
      maxBytes,
      secrecyOf: secrecyOfKeys([]),
    });

  const names = [
    'PASSWORD',
    'user_password',
    'ｐａｓｓｗｏｒｄ',
    'pаsswоrd',
    'p-a-s-s-w-o-r-d',
    'pass\u200bword',
    'clientSecret',
    'secret.key',
    'x-api-key',
    'id_token',
    'refreshTokens',
    'Authorization',
    'Set-Cookie',
    'privateKeyPem',
    'PIN',
  ];
  for (const name of names)
    test(`knows ${JSON.stringify(name)}, however it is spelt`, () => {
      assert.equal(keep({ [name]: 'hunter2', a: 1 }).json.includes('hunter2'), false);
    });

  test('reads names with escapes as what they are', () => {
    const { json } = keep('{"p\\u0061ssw\\u006frd":"hunter2","\\u0074oken":"hunter2"}');
    assert.equal(json, '{"password":"[redacted]","token":"[redacted]"}');
  });

  test('does not meet names that only begin alike', () => {
    const harmless = { author: 'a', tokenizer: 'b', keyboard: 'c', compass: 'd', maxTokens: 4, nextPageToken: 'e' };
    assert.equal(keep(harmless).json, JSON.stringify(harmless));
  });

  const texts = [
    `token ${JWT} here`,
    'Authorization: Basic dXNlcjpodW50ZXIy',
    'password=hunter2&x=1',
    '{\\"client_secret\\": \\"hunter2\\"}',
    'postgres://bob:hunter2@db/x',
    'ghp_hunter2hunter2hunter2',
    'AKIAHUNTER2HUNTER2',
    '-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----',
    'bearer hunter2hunter2',
  ];
  for (const text of texts)
    test(`finds the secret in ${JSON.stringify(text.slice(0, 40))}`, () => {
      assert.doesNotMatch(redactedText(text), /hunter2|eyJ|dXNl/i);
    });

  test('leaves usual texts alone', () => {
    for (const text of [
      'Basic understanding of keys',
      'the tokenizer has 5 tokens',
      'https://example.com/a?b=c',
      'bearer of news',
    ])
      assert.equal(redactedText(text), text);
  });

  test('comes before the cut: no part of a secret is left where data end', () => {
    for (let maxBytes = 1; maxBytes < 120; maxBytes += 1) {
      const { json } = keep({ note: `x ${JWT}`, password: 'hunter2' }, maxBytes);
      assert.doesNotMatch(json, /hunter|eyJ|JhbG/, String(maxBytes));
      JSON.parse(json);
    }
  });

  test('keeps nothing of what it cannot read: half a JSON text, no JSON, an open string', () => {
    assert.deepEqual(keep('not json: password hunter2'), { json: '""', isCut: true });
    assert.equal(keep('{"password":"hunter2').json.includes('hunter2'), false);
    assert.deepEqual(keep('{"a":1,"b":tru'), { json: '"{\\"a\\":1,\\"b\\":"', isCut: true });
    assert.deepEqual(keep(`{"a":"${'x'.repeat(50_000)}`, 10), { json: '"{\\"a\\":\\"xxxx"', isCut: true });
  });

  test('takes no long time for long texts made to be slow', () => {
    const parts = [
      'eyJ',
      'password',
      'token ',
      '://',
      '://a:',
      'Bearer ',
      'Basic a',
      '-----BEGIN PRIVATE KEY-----',
      'a',
    ];
    const begun = performance.now();
    for (const part of parts) redactedText(part.repeat(100_000 / part.length));
    assert.ok(performance.now() - begun < 5_000);
  });
});

describe('names from outside', () => {
  test('write no line of their own, no control character and no mark of direction', async (t) => {
    const { url, events } = await startAudited(t);
    const session = await openSession(url);
    const hostile = 'x\n{"type":"login"}\r\u0000\u001b[2J\u009b31m\u2028\u2029\u202e\u2066\ufeff\u007f"\\\ud800';
    await session.call(hostile);
    await session.request(`no\n${hostile}`);
    await post(url, { jsonrpc: '2.0', id: 1, method: 'ping' }, { 'user-agent': 'a\u0085"}\t[' });
    // `eventsIn` has found printable ASCII alone, and one event of the published form in each line.
    const log = await events();
    assert.deepEqual(
      log.map(({ type }) => type),
      ['mcp_initialize', 'mcp_notification', 'mcp_tool_call', 'mcp_request', 'mcp_ping'],
    );
    assert.equal(log[2]?.target?.['name'], hostile);
  });

  test('are cut when they are long, a megabyte too', async (t) => {
    const { url, events } = await startAudited(t);
    const session = await openSession(url);
    await session.call('n'.repeat(1_048_576));
    await session.request('resources/read', { uri: `x:${'ü'.repeat(500_000)}` });
    const log = (await events()).slice(2);
    for (const { target } of log) assert.equal(target?.['name']?.length, 1_024);
    assert.ok(log.every((event) => event.target?.['name']?.endsWith('…') && JSON.stringify(event).length < 4_000));
  });

  test('that are no UTF-8 are refused, and the refusal is on record', async (t) => {
    const { url, events } = await startAudited(t, { audit: { includeRequestData: true } });
    const { socket, closed } = connectByHand(t, url);
    const body = Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]);
    socket.write(postBytes('', { connection: 'close' }, { announced: body.length }));
    socket.write(body);
    await closed;
    assert.deepEqual(shortly(await events()), ['mcp_request failure']);
  });

  test('hold no secret either: the query of a URI', async (t) => {
    const { url, events } = await startAudited(t);
    await (await openSession(url)).request('resources/read', { uri: 'https://x.example/?access_token=hunter2' });
    assert.equal((await events()).at(-1)?.target?.['name'], 'https://x.example/?access_token=[redacted]');
  });
});
