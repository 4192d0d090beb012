import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resultText } from '../../fixtures/answers.ts';
import { count, startBackend } from '../../fixtures/backend.ts';
import { askedIn, sendModern } from '../../fixtures/modern-caller.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

test('with the optimizer a composite tool is called through call_tool, and asks through it', async (t) => {
  const backend = await startBackend();
  const steps = [
    { id: 'before', tool: 'a.echo' },
    { id: 'ask', type: 'elicitation', message: 'Go on?', dependsOn: ['before'] },
    { id: 'after', tool: 'a.echo', arguments: { of: '{{.params.of}}' }, dependsOn: ['ask'] },
  ];
  const compositeTools = [{ name: 'deploy', description: 'Deploys a release.', steps }];
  const running = await startRuntime(configFile({ a: backend.url }, { compositeTools, optimizer: {} }));
  t.after(() => Promise.all([running.stop(), backend.close()]));
  const session = await openSession(running.url);
  assert.deepEqual(await session.toolNames(), ['call_tool', 'find_tool']);
  const found = await session.call('find_tool', { tool_description: 'deploy a release' });
  assert.match(found.text, /Deploys a release\./);

  const [line] = /- \(composite tools\)[^\\]*/.exec((await session.request('tools/list')).text) ?? [];
  assert.equal(line, '- (composite tools) (1): deploy');
  const among = await session.call('find_tool', { tool_description: 'release', server: '(composite tools)' });
  assert.match(among.text, /Deploys a release\./, 'by the name that the summary has for their server');

  const call = { name: 'call_tool', args: { tool_name: 'deploy', parameters: { of: 'x' } } };
  const { state, requests } = askedIn(await sendModern(running.url, call));
  assert.deepEqual(Object.keys(requests), ['ask']);
  const answers = { ask: { action: 'accept', content: {} } };
  assert.equal(resultText(await sendModern(running.url, { ...call, state, answers })), 'echo {"of":"x"}');
  assert.equal(count(backend, 'tools/call'), 2, 'no step runs twice');
});
