import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openGate } from '../../../runtime/gate/index.ts';
import { errorOf, resultOf, resultText } from '../../fixtures/answers.ts';
import { elicit, startAskingBackend } from '../../fixtures/asking-backend.ts';
import { answerJson, type Exchange, startBackend } from '../../fixtures/backend.ts';
import { ACCEPTED, askedIn, sendModern } from '../../fixtures/modern-caller.ts';
import { toolText } from '../../fixtures/optimized.ts';
import { JSON_HEADERS, openSession } from '../../fixtures/raw-client.ts';
import { reading } from '../../fixtures/replicas.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { startAudited } from '../observe/audit/audited.ts';

const OPTIMIZER = { optimizer: {} };

const calling = (name: string, parameters: object = {}) => ({
  name: 'call_tool',
  args: { tool_name: name, parameters },
});

describe('a tool that is called through call_tool', () => {
  test('asks a client of 2026-07-28, which goes on with its answer', async (t) => {
    const there = await startAskingBackend();
    const running = await startRuntime(configFile({ a: there.url }, OPTIMIZER));
    t.after(async () => {
      await running.stop();
      await there.close();
    });
    const first = sendModern(running.url, calling('a_echo'));
    const call = await there.next();
    call.say(elicit('who'));
    const { state } = askedIn(await first);
    const second = sendModern(running.url, { ...calling('a_echo'), id: 2, state, answers: { who: ACCEPTED } });
    assert.deepEqual((await there.answerTo('who')).result, ACCEPTED);
    call.finish('hello');
    assert.equal(resultText(await second), 'hello');
  });

  test('asks a client of a session on the stream of its call', async (t) => {
    const there = await startAskingBackend();
    const running = await startRuntime(configFile({ a: there.url }, OPTIMIZER));
    t.after(async () => {
      await running.stop();
      await there.close();
    });
    const session = await openSession(running.url, { elicitation: {} });
    const asking = there.next().then((call) => {
      call.say(elicit(7));
      return call;
    });
    const response = await fetch(running.url, {
      method: 'POST',
      headers: { ...JSON_HEADERS, 'mcp-session-id': session.id },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 5,
        method: 'tools/call',
        params: { name: 'call_tool', arguments: { tool_name: 'a_echo' } },
      }),
    });
    const { heard, messages, ended } = reading(response, () => {});
    const { id } = await heard('elicitation/create');
    await session.send({ jsonrpc: '2.0', id, result: ACCEPTED });
    assert.deepEqual((await there.answerTo(7)).result, ACCEPTED);
    (await asking).finish('done');
    await ended;
    assert.match(JSON.stringify(messages.at(-1)), /"id":5.*"text":"done"/);
  });

  test('of a server of 2026-07-28 asks in rounds, whose state is that of the server', async (t) => {
    const answersTo = ({ recorded: { method, params } }: Exchange) => {
      if (method === 'server/discover')
        return answerJson('{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}');
      if (method === 'tools/list') return answerJson(`{"resultType":"complete","tools":[${toolText('ask', 'Asks')}]}`);
      const { requestState: state, inputResponses: answers } = params;
      if (state === undefined)
        return answerJson(
          `{"resultType":"input_required","inputRequests":{"who":${JSON.stringify({
            method: 'elicitation/create',
            params: elicit(1).params,
          })}},"requestState":"of the server"}`,
        );
      const text = JSON.stringify({ state, answers });
      return answerJson(JSON.stringify({ resultType: 'complete', content: [{ type: 'text', text }] }));
    };
    const backend = await startBackend({ on: answersTo });
    const running = await startRuntime(configFile({ a: backend.url }, OPTIMIZER));
    t.after(async () => {
      await running.stop();
      await backend.close();
    });
    const { state } = askedIn(await sendModern(running.url, calling('a_ask')));
    assert.equal(state, 'of the server');
    const answer = await sendModern(running.url, { ...calling('a_ask'), id: 2, state, answers: { who: ACCEPTED } });
    assert.deepEqual(JSON.parse(resultText(answer)), { state, answers: { who: ACCEPTED } });
    const vain = await sendModern(running.url, { name: 'find_tool', args: { tool_description: 'ask' }, state });
    assert.match(errorOf(vain).message, /requestState is of no call/);
  });

  test('gives a task to a client that takes tasks', async (t) => {
    const TASKS = 'io.modelcontextprotocol/tasks';
    const backend = await startBackend({
      on: ({ recorded: { method } }) => {
        if (method === 'server/discover')
          return answerJson(
            `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"${TASKS}":{}}}}`,
          );
        if (method === 'tools/list')
          return answerJson(`{"resultType":"complete","tools":[${toolText('job', 'Takes long')}]}`);
        const times = '"createdAt":"2026-11-01T00:00:00Z","lastUpdatedAt":"2026-11-01T00:00:00Z","ttlMs":60000';
        if (method === 'tools/call')
          return answerJson(`{"resultType":"task","taskId":"1","status":"working",${times}}`);
        return answerJson(
          `{"resultType":"complete","taskId":"1","status":"completed",${times},"result":{"content":[]}}`,
        );
      },
    });
    const running = await startRuntime(configFile({ a: backend.url }, OPTIMIZER));
    t.after(async () => {
      await running.stop();
      await backend.close();
    });
    const capabilities = { extensions: { [TASKS]: {} } };
    const { resultType, taskId } = resultOf(await sendModern(running.url, { ...calling('a_job'), capabilities }));
    assert.equal(resultType, 'task');
    const task = await fetch(running.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tasks/get',
        'mcp-name': String(taskId),
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 2,
        method: 'tasks/get',
        params: {
          taskId,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientCapabilities': capabilities,
          },
        },
      }),
    });
    assert.match(await task.text(), /"status":"completed"/);
  });

  test('gets the headers that its schema asks for', async (t) => {
    const schema = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } };
    const backend = await startBackend({
      on: ({ recorded: { method } }) => {
        if (method === 'server/discover')
          return answerJson('{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}');
        if (method === 'tools/list')
          return answerJson(
            `{"resultType":"complete","tools":[${toolText('where', 'Says where', { inputSchema: schema })}]}`,
          );
        return answerJson('{"resultType":"complete","content":[]}');
      },
    });
    const running = await startRuntime(configFile({ a: backend.url }, OPTIMIZER));
    t.after(async () => {
      await running.stop();
      await backend.close();
    });
    const answer = await sendModern(running.url, calling('a_where', { region: 'north' }));
    assert.deepEqual(resultOf(answer)['content'], []);
    const { headers } = await backend.received(({ method }) => method === 'tools/call');
    assert.deepEqual([headers['mcp-param-region'], headers['mcp-name']], ['north', 'where']);
  });

  test('is counted under its own name by its limit, and the client’s request by that of the server', async (t) => {
    const backend = await startBackend({ tools: ['t', 'u'] });
    const limit = { maxTokens: 1, refillPeriod: '1h' };
    const running = await startRuntime(
      configFile(
        { a: backend.url },
        {
          ...OPTIMIZER,
          rateLimiting: { shared: { maxTokens: 4, refillPeriod: '1h' }, tools: [{ name: 'a_t', shared: limit }] },
        },
      ),
    );
    t.after(async () => {
      await running.stop();
      await backend.close();
    });
    const session = await openSession(running.url);
    await session.toolNames();
    const call = (name: string) => session.call('call_tool', { tool_name: name });
    assert.equal(resultText(await call('a_t')), 't {}');
    assert.equal(errorOf(await call('a_t')).data.reason, 'rate_limited');
    assert.equal(resultText(await call('a_u')), 'u {}');
    assert.equal(resultText(await call('a_u')), 'u {}');
    assert.equal(errorOf(await call('a_u')).data.reason, 'rate_limited', 'four requests of the client');
  });

  test('is in the audit log under its own name, within the call of the client', async (t) => {
    const { url, events } = await startAudited(t, { more: OPTIMIZER });
    const session = await openSession(url);
    await session.call('call_tool', { tool_name: 'a_t', parameters: { x: 1 } });
    const calls = (await events()).filter(({ type }) => type === 'mcp_tool_call');
    assert.deepEqual(
      calls.map(({ target, outcome }) => [target?.['name'], target?.['backend'], outcome]),
      [
        ['a_t', 'a', 'success'],
        ['call_tool', undefined, 'success'],
      ],
    );
    const [inner] = calls as readonly { readonly metadata?: { readonly extra?: Record<string, unknown> } }[];
    assert.match(JSON.stringify(inner), /"origin":"optimizer"/);
  });

  test('is refused for its own name by the gate, which is asked about both', async (t) => {
    const backend = await startBackend({ tools: ['t'] });
    const asked: string[] = [];
    const gate = {
      ...openGate,
      authorize: ({ name, origin }: { name: string; origin: string }) => void asked.push(`${origin} ${name}`),
    };
    const running = await startRuntime(configFile({ a: backend.url }, OPTIMIZER), {}, { features: () => ({ gate }) });
    t.after(async () => {
      await running.stop();
      await backend.close();
    });
    const session = await openSession(running.url);
    await session.call('call_tool', { tool_name: 'a_t' });
    assert.deepEqual(asked, ['client call_tool', 'optimizer a_t']);
  });

  test('is cancelled with the call of the client', async (t) => {
    const there = await startAskingBackend();
    const running = await startRuntime(configFile({ a: there.url }, OPTIMIZER));
    t.after(async () => {
      await running.stop();
      await there.close();
    });
    const session = await openSession(running.url);
    const answer = session.send({
      jsonrpc: '2.0',
      id: 77,
      method: 'tools/call',
      params: { name: 'call_tool', arguments: { tool_name: 'a_echo' } },
    });
    const call = await there.next();
    await session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 77 } });
    await there.cancelled(call);
    await answer;
  });
});
