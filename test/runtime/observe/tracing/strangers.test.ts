import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBackend } from '../../../fixtures/backend.ts';
import { startCollector } from '../../../fixtures/otlp-collector.ts';
import { INITIALIZE, post } from '../../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../../fixtures/runtime.ts';

const [TRACE, PARENT] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];

/** Spans of one request without a token, whose client wants it to be sampled. */
const spansOfStranger = async (samplingRate: string) => {
  const [backend, collector] = [await startBackend(), await startCollector()];
  const oidc = { issuer: 'https://issuer.example', audience: 'a', clientId: 'a', issuerKeys: { keys: [] } };
  const telemetry = { endpoint: collector.address, insecure: true, tracingEnabled: true, samplingRate };
  const file = configFile({ a: backend.url }, { telemetry, incomingAuth: { type: 'oidc', oidc } });
  const running = await startRuntime(file);
  const { status } = await post(running.url, INITIALIZE, { traceparent: `00-${TRACE}-${PARENT}-01` });
  assert.equal(status, 401);
  await running.stop();
  const spans = collector.spans();
  await Promise.all([backend.close(), collector.close()]);
  return spans.map(({ parentSpanId, links }) => ({ parentSpanId, links }));
};

test('a client that may not send does not decide what is sampled; its trace is linked to', async () => {
  assert.deepEqual(await spansOfStranger('0.0'), []);
  assert.deepEqual(await spansOfStranger('1.0'), [{ parentSpanId: '', links: [{ traceId: TRACE, spanId: PARENT }] }]);
});
