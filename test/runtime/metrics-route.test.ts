import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { get } from 'node:http';
import { startRuntime, configFile } from '../fixtures/runtime.ts';
import { covers } from '../requirements.ts';

const statusWithHost = (url: string, host: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    get(url, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', reject);
  });

describe('/metrics on the main port', () => {
  covers('telemetry.metrics-path', 'telemetry.metrics-path.main-port');
  test('is there when it is asked for, beside the MCP endpoint', async () => {
    const running = await startRuntime(configFile({}, { telemetry: { enablePrometheusMetricsPath: true } }));
    const response = await fetch(new URL('/metrics', running.url));
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
    assert.match(await response.text(), /^vmcp_build_info\{version="[^"]+"\} 1$/m);
    assert.equal((await fetch(new URL('/metrics', running.url), { method: 'POST' })).status, 404);
    await running.stop();
  });

  covers('telemetry.metrics-path.default-false', 'endpoints.metrics.only-when-enabled');
  test('is not there by default, whatever else of telemetry is asked for', async () => {
    for (const more of [{}, { telemetry: { tracingEnabled: true, metricsEnabled: true } }]) {
      const running = await startRuntime(configFile({}, more));
      assert.equal((await fetch(new URL('/metrics', running.url))).status, 404);
      assert.equal((await fetch(new URL('/metrics', running.managementUrl))).status, 200);
      await running.stop();
    }
  });

  test('is guarded against foreign hosts like everything on that port', async () => {
    const running = await startRuntime(configFile({}, { telemetry: { enablePrometheusMetricsPath: true } }));
    assert.equal(await statusWithHost(new URL('/metrics', running.url).href, 'evil.example'), 403);
    await running.stop();
  });
});
