import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documentedMetrics } from '../charts/runtime-metrics.ts';
import { startBackend } from '../fixtures/backend.ts';
import { startCollector } from '../fixtures/otlp-collector.ts';
import { openSession } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';

test('docs/telemetry.md has exactly the metrics that a server shows, each with its kind and labels', async (t) => {
  const backend = await startBackend({ tools: ['t'] });
  t.after(() => backend.close());
  const collector = await startCollector();
  t.after(() => collector.close());
  const telemetry = { endpoint: collector.address, insecure: true, tracingEnabled: true, metricsEnabled: true };
  const running = await startRuntime(configFile({ a: backend.url }, { telemetry }));
  await (await openSession(running.url)).call('a_t');
  const text = await (await fetch(`${running.managementUrl}/metrics`)).text();
  await running.stop();
  const documented = documentedMetrics();
  const shown = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', kind = '']) => `${name} ${kind}`);
  assert.deepEqual(shown.toSorted(), documented.map(({ name, kind }) => `${name} ${kind}`).toSorted());
  for (const [, series = '', labels = ''] of text.matchAll(/^(\w+)\{([^\n]*)\} /gm)) {
    const metric = documented.find(
      ({ name }) => series === name || series.replace(/_(bucket|sum|count)$/, '') === name,
    );
    const unknown = [...labels.matchAll(/(\w+)="/g)]
      .map(([, label = '']) => label)
      .filter((label) => label !== 'le' && metric?.labels.includes(label) !== true);
    assert.deepEqual(unknown, [], series);
  }
});
