import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startEmbeddingServer } from '../../fixtures/embedding-server.ts';
import { askRaw, explained, stepOf } from '../../fixtures/explained.ts';
import { embedded, startOptimized, toolText } from '../../fixtures/optimized.ts';

const TOOLS = [
  toolText('forecast', 'Tells the weather'),
  toolText('paint', 'Paints a fence'),
  toolText('paint_twice', 'Paints a fence twice, and the gate'),
];

test('a search that gives the tool, has too many before it, or does not match it is explained', async (t) => {
  const server = await startEmbeddingServer();
  const optimizer = { embeddingService: server.url, maxToolsToReturn: 1, semanticDistanceThreshold: '0.5' };
  const { running, stop } = await startOptimized({ tools: TOOLS, optimizer });
  t.after(async () => {
    await server.close();
    await stop();
  });
  await embedded(running, 3);
  const search = async (name: string, query: string) => {
    const explanation = await explained(running, { name, query });
    assert.equal(explanation.allowed, true, 'it can be called all the same');
    return stepOf(explanation, 'search');
  };
  const found = await search('a_forecast', 'an umbrella');
  assert.deepEqual([found.outcome, found['rank'], found['search']], ['ok', 1, 'hybrid']);
  const beyond = await search('a_paint_twice', 'paint a fence');
  assert.deepEqual([beyond.outcome, beyond['rank'], beyond['limit']], ['refused', 2, 1]);
  assert.match(beyond.remedy ?? '', /maxToolsToReturn/);
  const far = await search('a_paint', 'an umbrella');
  assert.deepEqual([far.outcome, far['isBeyondThreshold']], ['refused', true]);
  assert.match(far.reason, /distance 1\.00 is above 0\.5/);
});

test('where words alone count, a tool without any of them is not found', async (t) => {
  const { running, stop } = await startOptimized({ tools: TOOLS });
  t.after(stop);
  const step = stepOf(await explained(running, { name: 'a_paint', query: 'umbrella' }), 'search');
  assert.match(step.reason, /^keyword search does not match it: none of its words is in the query$/);
});

test('of a tool that is not offered, and without an optimizer, there is nothing to explain', async (t) => {
  const { running, backend, stop } = await startOptimized({ tools: TOOLS });
  t.after(stop);
  const unknown = stepOf(await explained(running, { name: 'a_nothing', query: 'paint' }), 'search');
  assert.equal(unknown.outcome, 'skipped');
  assert.ok(backend.requests.every(({ method }) => method !== 'tools/call'));
  const { status } = await askRaw(running, JSON.stringify({ kind: 'prompt', name: 'p', query: 'x' }));
  assert.equal(status, 400);
});
