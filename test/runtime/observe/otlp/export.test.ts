import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../../runtime/start.ts';
import { until } from '../../../cluster/index.ts';
import { scratchFolder } from '../../../cluster/scratch.ts';
import { type FixtureBackend, startBackend } from '../../../fixtures/backend.ts';
import { noCertificates, testCertificates, type TestCertificates } from '../../../fixtures/certificates.ts';
import { type OtlpCollector, startCollector } from '../../../fixtures/otlp-collector.ts';
import type { DecodedMetric } from '../../../fixtures/otlp-messages.ts';
import { openSession, type RawSession } from '../../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../../fixtures/runtime.ts';
import { covers } from '../../../requirements.ts';

describe('what is exported over OTLP', () => {
  let backend: FixtureBackend;
  let collector: OtlpCollector;
  let running: Running;
  let session: RawSession;
  const lines: string[] = [];
  const line = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const log = { debug: () => {}, info: line, warn: line, error: line, setLevel: () => {}, setFields: () => {} };

  const begin = async (telemetry: object, more: object = {}) => {
    running = await startRuntime(configFile({ a: backend.url }, { telemetry, ...more }), {}, { log });
    session = await openSession(running.url);
    await session.toolNames();
  };
  const plain = (more: object = {}) => ({
    endpoint: collector.address,
    insecure: true,
    tracingEnabled: true,
    samplingRate: '1.0',
    ...more,
  });
  const telemetrySeries = async (name: string): Promise<string[]> => {
    const text = await (await fetch(`${running.managementUrl}/metrics`)).text();
    return text.split('\n').filter((each) => each.startsWith(`vmcp_telemetry_${name}_total`));
  };

  before(async () => {
    backend = await startBackend({ tools: ['t'] });
  });
  beforeEach(async () => {
    lines.length = 0;
    collector = await startCollector();
  });
  afterEach(() => collector.close());
  after(() => backend.close());

  describe('as metrics', () => {
    const metric = (name: string): DecodedMetric =>
      collector.metrics().find((each) => each.name === name) ?? assert.fail(name);

    covers('telemetry.metrics.enabled', 'telemetry.custom-attributes.metrics', 'telemetry.endpoint');
    test('is the same that Prometheus reads, under OpenTelemetry’s names', async () => {
      await begin(plain({ tracingEnabled: false, metricsEnabled: true, customAttributes: { zone: 'z1' } }));
      await session.call('a_t');
      await session.call('a_t');
      await running.stop();
      assert.deepEqual(
        collector.received.map(({ path }) => path),
        ['/v1/metrics'],
      );
      const { kind, unit, temporality, points, resource } = metric('mcp.server.operation.duration');
      assert.deepEqual([kind, unit, temporality], ['histogram', 's', 2]);
      const calls = points.find(({ attributes }) => attributes['gen_ai.tool.name'] === 'a_t');
      assert.deepEqual(calls?.attributes, { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'a_t' });
      assert.equal(calls.counts.length, calls.bounds.length + 1);
      assert.equal(
        calls.counts.reduce((all, count) => all + count, 0n),
        2n,
      );
      assert.ok(calls.start < calls.time && calls.value >= 0);
      assert.equal(resource['zone'], 'z1');
      assert.equal(resource['service.name'], 'test');
      assert.equal(metric('vmcp.sessions').kind, 'gauge');
      assert.deepEqual(
        metric('vmcp.backend.status').points.map(({ attributes, value }) => [attributes, value]),
        [[{ 'vmcp.backend.name': 'a', 'vmcp.backend.status': 'ready' }, 1]],
      );
    });

    test('counts only grow, and so are sums', async () => {
      await begin(plain({ tracingEnabled: false, metricsEnabled: true }));
      await session.call('none');
      await running.stop();
      const { kind, isMonotonic, temporality, points } = metric('vmcp.requests.refused');
      assert.deepEqual([kind, isMonotonic, temporality], ['sum', true, 2]);
      assert.deepEqual(
        points.map(({ attributes, value }) => [attributes, value]),
        [[{ 'error.type': 'unknown_name' }, 1]],
      );
    });

    covers('telemetry.metrics.default-false');
    test('are not exported by default', async () => {
      await begin(plain());
      await running.stop();
      assert.ok(collector.received.length > 0);
      assert.ok(collector.received.every(({ path }) => path === '/v1/traces'));
    });
  });

  describe('goes to an endpoint', () => {
    test('below the path of its address', async () => {
      await begin({ ...plain(), insecure: false, endpoint: `http://${collector.address}/tenant/7/` });
      await running.stop();
      assert.ok(collector.received.length > 0);
      assert.ok(collector.received.every(({ path }) => path === '/tenant/7/v1/traces'));
    });

    covers('telemetry.headers');
    test('with the headers that were asked for, and those in files as they are now', async () => {
      const folder = await scratchFolder('otlp');
      const file = join(folder.path, 'authorization');
      await writeFile(file, 'Bearer first\n');
      await begin(plain({ headers: { 'X-Tenant': 'seven' }, headerFiles: { Authorization: file } }));
      await until('an export', async () => collector.received.length > 0 || undefined);
      await writeFile(file, 'Bearer second\n');
      await session.call('a_t');
      await running.stop();
      const sent = collector.received.map(({ headers }) => [headers['x-tenant'], headers.authorization]);
      assert.deepEqual(sent[0], ['seven', 'Bearer first']);
      assert.deepEqual(sent.at(-1), ['seven', 'Bearer second']);
      await folder.remove();
    });

    test('never without a header that is missing', async () => {
      await begin(plain({ headerFiles: { authorization: '/nowhere/authorization' } }));
      await running.stop();
      assert.equal(collector.received.length, 0);
      assert.match(lines.join('\n'), /telemetry could not be exported .*the value of header authorization is missing/);
    });

    test('and no log line tells a header or an address', async () => {
      collector.answer({ status: 401 });
      await begin(plain({ headers: { 'x-key': 'k3y' } }));
      await running.stop();
      const failed = lines.filter((each) => each.startsWith('telemetry could not be exported'));
      assert.match(failed.join('\n'), /the collector answered with status 401/);
      assert.ok(!failed.join('\n').includes('k3y') && !failed.join('\n').includes(collector.address));
    });
  });

  describe('over TLS', { skip: noCertificates }, () => {
    let certificates: TestCertificates;
    let secured: OtlpCollector;
    before(async () => {
      certificates = await testCertificates();
      const [key, cert] = await Promise.all([
        readFile(certificates.keyFile, 'utf8'),
        readFile(certificates.certificateFile, 'utf8'),
      ]);
      secured = await startCollector({ key, cert });
    });
    after(async () => {
      await secured.close();
      await certificates.remove();
    });
    const over = (more: object) => ({ tracingEnabled: true, samplingRate: '1.0', endpoint: secured.address, ...more });

    covers('telemetry.insecure.default-https', 'telemetry.ca-cert-path');
    test('reaches a collector whose authority is in the bundle', async () => {
      await begin(over({ caCertPath: certificates.caFile }));
      await running.stop();
      assert.ok(secured.spans().some(({ name }) => name === 'initialize'));
    });

    test('goes nowhere where the authority is unknown', async () => {
      secured.received.length = 0;
      await begin(over({}));
      await running.stop();
      assert.equal(secured.received.length, 0);
      assert.match(lines.join('\n'), /telemetry could not be exported/);
    });

    test('is never sent in plain text where TLS was asked for', async () => {
      await begin({ ...plain(), insecure: false });
      await running.stop();
      assert.equal(collector.received.length, 0);
      assert.match(lines.join('\n'), /telemetry could not be exported/);
    });
  });

  describe('while the collector does not take it', () => {
    test('delays no call, and is sent again', async () => {
      collector.answer({ status: 503, headers: { 'retry-after': '1' } });
      await begin(plain());
      await until('a refused export', async () => collector.received.length > 0 || undefined);
      await session.call('a_t');
      collector.answer({ status: 200 });
      collector.received.length = 0;
      await until(
        'the same export again',
        async () => collector.spans().some(({ name }) => name === 'initialize') || undefined,
      );
      assert.match(lines.join('\n'), /telemetry could not be exported .*status 503/);
      await running.stop();
      assert.ok(collector.spans().some(({ name }) => name === 'tools/call a_t'));
    });

    test('is given up when the collector wants none of it', async () => {
      collector.answer({ status: 400 });
      await begin(plain());
      await until('a refused export', async () => (await telemetrySeries('spans')).length > 0 || undefined);
      assert.match((await telemetrySeries('spans')).join('\n'), /\{vmcp_telemetry_outcome="failed"\} \d/);
      assert.match(
        (await telemetrySeries('exports')).join('\n'),
        /signal="traces",vmcp_telemetry_outcome="failed"\} 1/,
      );
      await running.stop();
    });

    test('counts what the collector rejects', async () => {
      // `partial_success { rejected_spans: 2 }`
      collector.answer({ status: 200, body: Buffer.from([0x0a, 0x02, 0x08, 0x02]) });
      await begin(plain());
      await until('an export', async () => (await telemetrySeries('spans')).length === 2 || undefined);
      const series = await telemetrySeries('spans');
      assert.ok(series.includes('vmcp_telemetry_spans_total{vmcp_telemetry_outcome="rejected"} 2'), series.join('\n'));
      await running.stop();
    });

    test('does not keep the process from stopping', async () => {
      collector.answer(undefined);
      await begin(plain({ metricsEnabled: true }));
      await session.call('a_t');
      await running.stop();
      assert.match(lines.join('\n'), /^the last telemetry was not sent/m);
    });
  });
});
