import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documentedMetrics } from '../charts/runtime-metrics.ts';
import { noCertificates } from '../fixtures/certificates.ts';
import { startCollector } from '../fixtures/otlp-collector.ts';
import { openSession } from '../fixtures/raw-client.ts';
import { startLadder } from '../runtime/auth-server/sign-in/gateway.ts';

const skip = noCertificates;

test(
  'docs/telemetry.md has exactly the metrics that a server shows, each with its kind and labels',
  { skip },
  async (t) => {
    const collector = await startCollector();
    t.after(() => collector.close());
    const telemetry = { endpoint: collector.address, insecure: true, tracingEnabled: true, metricsEnabled: true };
    const gateway = await startLadder({ more: { telemetry } });
    t.after(() => gateway.stop());
    const { url, managementUrl } = gateway.running();
    const session = await openSession(url, {}, await gateway.signedIn());
    await session.call('c_echo');
    const text = await (await fetch(`${managementUrl}/metrics`)).text();
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
  },
);
