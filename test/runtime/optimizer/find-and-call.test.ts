import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { createMetrics } from '../../../runtime/observe/index.ts';
import { optimizerTools } from '../../../runtime/optimizer-tools.ts';
import { errorOf, resultOf, resultText } from '../../fixtures/answers.ts';
import { answerJson, answerSse, startBackend } from '../../fixtures/backend.ts';
import { onCall } from '../../fixtures/gateway.ts';
import { sendModern } from '../../fixtures/modern-caller.ts';
import {
  FEW_TOOLS,
  foundIn,
  namesOf,
  type OptimizedOptions,
  startOptimized,
  toolText,
} from '../../fixtures/optimized.ts';
import { INITIALIZE, openSession, post } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { scraped } from '../../fixtures/scraped.ts';
import { bothOf } from '../../fixtures/workflows.ts';
import { covers } from '../../requirements.ts';

const start = async (t: TestContext, options: OptimizedOptions = {}) => {
  const optimized = await startOptimized(options);
  t.after(optimized.stop);
  return optimized;
};

const NO_CAPABILITIES = { capabilities: {} };

/** A composite tool beside the optimizer. */
const withComposite: OptimizedOptions['deps'] = {
  features: (deps) => ({
    ownTools: {
      builtin: optimizerTools({ ...deps, meter: createMetrics().meter }),
      workflow: bothOf('a_forecast', 'a_open_ticket'),
    },
  }),
};

const listedIn = ({ json }: { readonly json: unknown }) =>
  (json as { readonly result: { readonly tools: readonly { readonly name: string; readonly description: string }[] } })
    .result.tools;

describe('the list of tools with the optimizer', () => {
  covers('optimizer.optional');
  test('is as without it where there is none', async (t) => {
    const backend = await startBackend({ tools: FEW_TOOLS });
    const running = await startRuntime(configFile({ a: backend.url }));
    t.after(async () => {
      await running.stop();
      await backend.close();
    });
    const session = await openSession(running.url);
    assert.deepEqual(await session.toolNames(), ['a_forecast', 'a_open_ticket', 'a_send_letter']);
    assert.equal(errorOf(await session.call('find_tool', { tool_description: 'x' })).data.reason, 'unknown_name');
  });

  covers(
    'optimizer.find-tool-advertised',
    'optimizer.call-tool-advertised',
    'optimizer.backend-tools-replaced',
    'endpoints.mcp.optimizer-hides-composites',
  );
  test('holds the two tools and no others, composite ones neither, for clients of both eras', async (t) => {
    const { session, running } = await start(t, { deps: withComposite ?? {} });
    assert.deepEqual(await session.toolNames(), ['call_tool', 'find_tool']);
    const modern = listedIn(await sendModern(running.url, { method: 'tools/list', ...NO_CAPABILITIES }));
    assert.deepEqual(
      modern.map(({ name }) => name),
      ['call_tool', 'find_tool'],
    );
    const called = await session.call('call_tool', { tool_name: 'both', parameters: { x: 1 } });
    assert.match(resultText(called), /forecast.*open_ticket/);
    const found = foundIn(await session.call('find_tool', { tool_description: 'both' }));
    assert.deepEqual(namesOf(found), ['both']);
  });

  test('says which servers there are, and what some of their tools are called', async (t) => {
    const { session } = await start(t);
    const find = listedIn(await session.request('tools/list'))[1];
    assert.match(find?.description ?? '', /\n- a \(3\): a_forecast, a_open_ticket, a_send_letter$/);
  });

  for (const wish of ['by its name', 'by a header'] as const)
    test(`is whole for a client that asks for that ${wish}`, async (t) => {
      const { running } = await start(t, { more: { extensions: { optimizer: { exceptClients: ['raw'] } } } });
      const others = wish === 'by its name' ? {} : { 'vmcp-optimizer': 'off' };
      const clientInfo = { name: wish === 'by its name' ? 'raw' : 'other', version: '1' };
      const initialized = await post(running.url, { ...INITIALIZE, params: { ...INITIALIZE.params, clientInfo } });
      const session = { 'mcp-session-id': initialized.headers.get('mcp-session-id') ?? '' };
      const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
      const names = async (headers: Record<string, string>) =>
        listedIn(await post(running.url, list, { ...session, ...headers })).map(({ name }) => name);
      assert.deepEqual(await names(others), ['a_forecast', 'a_open_ticket', 'a_send_letter']);
      assert.deepEqual(await names({ 'vmcp-optimizer': 'on' }), ['call_tool', 'find_tool']);
    });

  test('is whole for a client of 2026-07-28 that asks for that, and no shared cache gives it to others', async (t) => {
    const { running } = await start(t);
    const ask = (headers: Record<string, string>) =>
      sendModern(running.url, { method: 'tools/list', headers, ...NO_CAPABILITIES });
    const whole = await ask({ 'vmcp-optimizer': 'off' });
    assert.equal(listedIn(whole).length, 3);
    assert.equal(resultOf(whole)['cacheScope'], 'private');
  });

  test('changes with the configuration, and clients are told', async (t) => {
    const { running, backend, session } = await start(t);
    assert.deepEqual(running.reload(configFile({ a: backend.url })), { ok: true });
    assert.deepEqual(await session.toolNames(), ['a_forecast', 'a_open_ticket', 'a_send_letter']);
    assert.deepEqual(running.reload(configFile({ a: backend.url }, { optimizer: {} })), { ok: true });
    assert.deepEqual(await session.toolNames(), ['call_tool', 'find_tool']);
    assert.deepEqual(namesOf(foundIn(await session.call('find_tool', { tool_description: 'forecast' }))), [
      'a_forecast',
    ]);
  });

  test('a tool of a backend whose name is that of one of the two gives way, and the loss is told', async (t) => {
    const { session, running } = await start(t, {
      tools: [toolText('find_tool', 'Finds hammers')],
      more: { aggregation: { conflictResolutionConfig: { prefixFormat: '' } } },
    });
    assert.deepEqual(await session.toolNames(), ['call_tool', 'find_tool']);
    assert.deepEqual(running.status().collisions, [
      { kind: 'tools', name: 'find_tool', keptBy: 'builtin', lostBy: 'a' },
    ]);
  });
});

describe('find_tool', () => {
  test('gives whole definitions as they are listed, best first, and says what they take', async (t) => {
    const { session, find } = await start(t);
    const answer = await session.call('find_tool', { tool_description: 'a defect' });
    const found = foundIn(answer);
    assert.deepEqual(namesOf(found), ['a_open_ticket']);
    assert.equal(found.search, 'keyword');
    assert.equal(found.degraded, undefined);
    const forecast = await session.call('find_tool', { tool_description: 'how hot will it get' });
    assert.ok(forecast.text.includes(FEW_TOOLS[0]?.replace('"forecast"', '"a_forecast"') ?? '?'), forecast.text);
    const bytes = FEW_TOOLS.map((each) => Buffer.byteLength(each) + 2);
    const all = bytes.reduce((sum, each) => sum + each, 0);
    const { baseline_tokens: baseline, returned_tokens: returned } = (await find('forecast')).token_metrics;
    assert.deepEqual([baseline, returned], [Math.ceil(all / 4), Math.ceil((bytes[0] ?? 0) / 4)]);
  });

  test('counts the two tools themselves where it says what is saved', async (t) => {
    const tools = Array.from({ length: 40 }, (_, index) => toolText(`tool_${index}`, `word${index} `.repeat(100)));
    const { session, find } = await start(t, { tools, optimizer: { maxToolsToReturn: 1 } });
    const list = await session.request('tools/list');
    const own = listedIn(list).reduce((sum, each) => sum + JSON.stringify(each).length, 0);
    const { savings_percent: saved = 0 } = (await find('word7')).token_metrics;
    const each = (tools[7]?.length ?? 0) + 2;
    const all = tools.reduce((sum, { length }) => sum + length + 2, 0);
    assert.equal(saved, Math.round((1_000 * (all - each - own)) / all) / 10);
  });

  covers('optimizer.max-tools.default');
  test('gives eight tools at most where nothing else is said', async (t) => {
    const tools = Array.from({ length: 12 }, (_, index) => toolText(`paint_${index}`, 'Paints a fence'));
    const { find } = await start(t, { tools });
    assert.equal((await find('paint a fence')).tools.length, 8);
  });

  covers('optimizer.max-tools.honoured');
  test('gives as many as the configuration says, which may change', async (t) => {
    const tools = Array.from({ length: 60 }, (_, index) => toolText(`paint_${index}`, 'Paints a fence'));
    const { find, running, backend } = await start(t, { tools, optimizer: { maxToolsToReturn: 3 } });
    assert.equal((await find('paint a fence')).tools.length, 3);
    running.reload(configFile({ a: backend.url }, { optimizer: { maxToolsToReturn: 50 } }));
    assert.equal((await find('paint a fence')).tools.length, 50);
  });

  test('names what is nearest where nothing fits', async (t) => {
    const { find } = await start(t);
    const { tools, nearest } = await find('zzz qqq');
    assert.deepEqual(tools, []);
    assert.deepEqual(nearest?.servers, ['a']);
    assert.equal(nearest?.names.length, 3);
  });

  test('searches one server where it is told to, and takes keywords in any form', async (t) => {
    const { find, session } = await start(t);
    assert.deepEqual(namesOf(await find('forecast', { server: 'a' })), ['a_forecast']);
    assert.deepEqual(namesOf(await find('forecast', { server: 'b' })), []);
    assert.deepEqual(namesOf(await find('', { tool_keywords: ['letter'] })), ['a_send_letter']);
    assert.deepEqual(namesOf(await find('', { tool_keywords: 'letter' })), ['a_send_letter']);
    const many = Array.from({ length: 50 }, (_, at) => `qqq${at} zzz${at}`);
    assert.deepEqual(namesOf(await find('letter', { tool_keywords: many })), ['a_send_letter']);
    for (const args of [{}, { tool_description: 5 }, { tool_description: '  ' }]) {
      const answer = await session.call('find_tool', args);
      assert.equal(resultOf(answer)['isError'], true);
      assert.match(resultText(answer), /^tool_description is missing/);
    }
  });

  test('finds a tool as soon as its backend lists it, and no longer once it is gone', async (t) => {
    const { find, backend, session } = await start(t);
    backend.set({ tools: [...FEW_TOOLS, toolText('mow_lawn', 'Cuts grass')] });
    assert.match(resultText(await session.call('call_tool', { tool_name: 'a_mow_lawn' })), /^mow_lawn/);
    assert.deepEqual(namesOf(await find('grass')), ['a_mow_lawn']);
  });
});

describe('call_tool', () => {
  const RESULT = '{"content":[ ], "structuredContent":{"n":1.0,"big":12345678901234567890}, "x-own" : null}';

  test('gives what the tool gives, byte for byte, under the id of the client', async (t) => {
    const { session, backend } = await start(t);
    onCall(backend, () => answerJson(RESULT));
    const args = '{"tool_name":"a_forecast","parameters":{"at": 1.0}}';
    const message = `{"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{"name":"call_tool","arguments":${args}}}`;
    const answer = await session.send(message);
    assert.equal(answer.text, `{"jsonrpc":"2.0","id":"mine","result":${RESULT}}`);
    const sent = backend.requests.find(({ method }) => method === 'tools/call');
    assert.match(sent?.body ?? '', /"name":"forecast","arguments":\{"at": 1\.0\}/);
  });

  test('is served to clients of 2026-07-28 as a direct call is', async (t) => {
    const { running } = await start(t);
    const args = { tool_name: 'a_forecast', parameters: { at: 1 } };
    const answer = await sendModern(running.url, { name: 'call_tool', args, ...NO_CAPABILITIES });
    const direct = await sendModern(running.url, { name: 'a_forecast', args: { at: 1 }, ...NO_CAPABILITIES });
    assert.deepEqual(answer.json, direct.json);
  });

  for (const [what, args] of Object.entries({
    'the name among the parameters': { parameters: { tool_name: 'a_forecast', at: 1 } },
    'all of it among the parameters': { parameters: { tool_name: 'a_forecast', parameters: { at: 1 } } },
    'arguments in place of parameters': { tool_name: 'a_forecast', arguments: { at: 1 } },
    'parameters as a text': { tool_name: 'a_forecast', parameters: '{"at":1}' },
  }))
    test(`takes ${what}`, async (t) => {
      const { session } = await start(t);
      assert.equal(resultText(await session.call('call_tool', args)), 'forecast {"at":1}');
    });

  test('needs no parameters, and says what is wrong with others', async (t) => {
    const { session, backend } = await start(t);
    assert.equal(resultText(await session.call('call_tool', { tool_name: 'a_forecast' })), 'forecast {}');
    const calls = backend.requests.length;
    for (const args of [
      { tool_name: 'a_forecast', parameters: [1] },
      { tool_name: 'a_forecast', parameters: '{"a":' },
    ])
      assert.match(resultText(await session.call('call_tool', args)), /^parameters is not an object/);
    assert.match(resultText(await session.call('call_tool', { tool_name: 5 })), /^tool_name is missing/);
    assert.equal(backend.requests.length, calls);
  });

  test('tells the names that are most like an unknown one, and counts it', async (t) => {
    const { session, running } = await start(t);
    const answer = await session.call('call_tool', { tool_name: 'a_forcast', parameters: {} });
    assert.equal(resultOf(answer)['isError'], true);
    assert.match(resultText(answer), /^tool not found: a_forcast\. The names most like it are: a_forecast,/);
    assert.deepEqual(await scraped(running, 'vmcp_optimizer_unknown_tools_total'), [
      'vmcp_optimizer_unknown_tools_total 1',
    ]);
  });

  test('a call of the tool by its own name is served as before', async (t) => {
    const { session } = await start(t);
    assert.equal(resultText(await session.call('a_forecast', { at: 1 })), 'forecast {"at":1}');
  });

  test('calls itself a bounded number of times', async (t) => {
    const { session } = await start(t);
    let parameters: object = { tool_name: 'a_forecast' };
    for (let depth = 0; depth < 12; depth += 1) parameters = { tool_name: 'call_tool', parameters };
    assert.match(errorOf(await session.call('call_tool', parameters)).message, /more than 8 deep/);
  });

  test('relays progress under the token of the client', async (t) => {
    const { session, backend } = await start(t);
    onCall(backend, ({ recorded }) => {
      const { progressToken } = recorded.params['_meta'] as { readonly progressToken: string };
      const params = JSON.stringify({ progressToken, progress: 1 });
      return answerSse('{"content":[]}', [`{"jsonrpc":"2.0","method":"notifications/progress","params":${params}}`]);
    });
    const params = { name: 'call_tool', arguments: { tool_name: 'a_forecast' }, _meta: { progressToken: 'mine' } };
    const { messages } = await session.request('tools/call', params);
    const [progress] = messages as readonly { readonly params?: { readonly progressToken?: string } }[];
    assert.equal(progress?.params?.progressToken, 'mine');
    assert.equal(messages.length, 2);
  });
});
