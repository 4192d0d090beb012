import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { errorOf, resultOf, resultText } from '../../fixtures/answers.ts';
import { answerJson, count, type Exchange, startBackend, textResult } from '../../fixtures/backend.ts';
import { ASKABLE, sendModern } from '../../fixtures/modern-caller.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

describe('what a workflow cannot do', () => {
  test('lead back to itself for ever: the ninth workflow is refused', async (t) => {
    let gateway = '';
    const hops: unknown[] = [];
    // Another gateway, which hands each call on to the first one.
    const backend = await startBackend({
      tools: ['again'],
      on: ({ recorded: { method, params } }) => {
        if (method !== 'tools/call') return undefined;
        hops.push(params['_meta']);
        const handOn = async ({ id, response }: Exchange): Promise<void> => {
          const session = await openSession(gateway);
          const { json } = await session.request('tools/call', params);
          response.writeHead(200, { 'content-type': 'application/json' });
          response.end(JSON.stringify({ ...(json as object), id: JSON.parse(id) as unknown }));
        };
        return (exchange) => void handOn(exchange);
      },
    });
    const compositeTools = [{ name: 'again', steps: [{ id: 'x', tool: 'a.again' }] }];
    const aggregation = { excludeAllTools: true };
    const running = await startRuntime(configFile({ a: backend.url }, { compositeTools, aggregation }));
    gateway = running.url;
    t.after(() => Promise.all([running.stop(), backend.close()]));
    const session = await openSession(running.url);
    const answer = await session.call('again');
    assert.match(resultText(answer), /^(step "x" failed: ){8}workflows lead to each other more than 8 times/);
    assert.deepEqual(
      hops,
      [1, 2, 3, 4, 5, 6, 7, 8].map((each) => ({ 'vmcp.dev/hops': each })),
    );
  });

  test('keep results of 30 MB of five steps', async (t) => {
    const large = textResult('x'.repeat(6 * 1024 * 1024));
    const backend = await startBackend({
      on: ({ recorded: { method } }) => (method === 'tools/call' ? answerJson(large) : undefined),
    });
    const step = (n: number): object => ({ id: `s${n}`, tool: 'a.echo', dependsOn: n > 1 ? [`s${n - 1}`] : [] });
    const compositeTools = [{ name: 'large', steps: [1, 2, 3, 4, 5].map(step) }];
    const running = await startRuntime(configFile({ a: backend.url }, { compositeTools }));
    t.after(() => Promise.all([running.stop(), backend.close()]));
    const session = await openSession(running.url);
    const answer = await session.call('large');
    assert.equal(resultText(answer), 'step "s3" failed: the results of its steps together are larger than 16 MiB');
    assert.equal(count(backend, 'tools/call'), 3);
  });

  test('send more than 64 MiB of arguments', async (t) => {
    const backend = await startBackend({
      on: ({ recorded: { method } }) => (method === 'tools/call' ? answerJson(textResult('done')) : undefined),
    });
    const step = { tool: 'a.echo', arguments: { x: '{{.params.x}}{{.params.x}}' } };
    const collection = JSON.stringify(Array.from({ length: 80 }, () => 0));
    const steps = [{ id: 's', type: 'forEach', collection, maxParallel: 1, step }];
    const running = await startRuntime(configFile({ a: backend.url }, { compositeTools: [{ name: 'w', steps }] }));
    t.after(() => Promise.all([running.stop(), backend.close()]));
    const session = await openSession(running.url);
    const answer = await session.call('w', { x: 'x'.repeat(500_000) });
    assert.equal(resultText(answer), 'step "s" failed: the arguments of its steps together are larger than 64 MiB');
    assert.equal(count(backend, 'tools/call'), 67);
  });

  test('be answered with a task, since a step waits for its result', async (t) => {
    const backend = await startBackend();
    const compositeTools = [{ name: 'w', steps: [{ id: 'x', tool: 'a.echo' }] }];
    const running = await startRuntime(configFile({ a: backend.url }, { compositeTools }));
    t.after(() => Promise.all([running.stop(), backend.close()]));
    const capabilities = { ...ASKABLE, extensions: { 'io.modelcontextprotocol/tasks': {} } };
    const answer = await sendModern(running.url, { name: 'w', capabilities });
    assert.equal(resultText(answer), 'echo {}');
    assert.equal(resultOf(answer)['resultType'], 'complete');
  });

  test('run with a state of a held call', async (t) => {
    const backend = await startBackend();
    const compositeTools = [{ name: 'w', steps: [{ id: 'x', tool: 'a.echo' }] }];
    const running = await startRuntime(configFile({ a: backend.url }, { compositeTools }));
    t.after(() => Promise.all([running.stop(), backend.close()]));
    const answer = await sendModern(running.url, { name: 'w', state: `${'A'.repeat(24)}.1`, answers: {} });
    assert.equal(errorOf(answer).code, -32_602);
    assert.equal(count(backend, 'tools/call'), 0);
  });
});
