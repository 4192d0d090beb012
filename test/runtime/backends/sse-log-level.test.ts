import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resultText } from '../../fixtures/answers.ts';
import { answerJson, count, type Exchange } from '../../fixtures/backend.ts';
import { eventually, startSseGateway, stopSseGateway } from './sse-gateway.ts';

test('a call waits until the backend has answered the log level before it: that it took the message is not enough', async (t) => {
  const levels: Exchange[] = [];
  const on = ({ recorded }: Exchange) =>
    recorded.method === 'logging/setLevel' ? (exchange: Exchange) => void levels.push(exchange) : undefined;
  const gateway = await startSseGateway({}, { capabilities: { logging: {} }, on });
  t.after(() => stopSseGateway(gateway));
  const { backend, session } = gateway;
  await session.toolNames();
  await session.request('logging/setLevel', { level: 'info' });
  const answer = session.call('a_echo');
  await eventually('the level', () => levels.length === 1);
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(count(backend, 'tools/call'), 0);
  for (const level of levels) answerJson('{}')(level);
  assert.equal(resultText(await answer), 'echo {}');
});
