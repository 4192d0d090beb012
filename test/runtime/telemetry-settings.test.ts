import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { suite, test } from 'node:test';
import { warningsOf } from '../../runtime/config/index.ts';
import { levelOf } from '../../runtime/config-slices.ts';
import { createLog } from '../../runtime/observe/index.ts';
import { telemetrySettingsOf } from '../../runtime/telemetry-settings.ts';
import { covers } from '../requirements.ts';
import { accepted } from './config/files.ts';

const facts = { version: '1.2.3', instanceId: 'i', environment: () => undefined };
const settingsOf = (telemetry: object) => telemetrySettingsOf(accepted({ telemetry }), facts);
const sent = { endpoint: 'collector:4318', tracingEnabled: true };

suite('what of telemetry is asked for', () => {
  test('nothing is exported without an endpoint', () => {
    assert.equal(settingsOf({}).otlp, undefined);
    assert.equal(settingsOf({ tracingEnabled: true, metricsEnabled: true }).otlp, undefined);
  });

  test('an endpoint without a scheme is HTTPS, unless insecure says otherwise; a scheme counts', () => {
    for (const [telemetry, base, isPlain] of [
      [sent, 'https://collector:4318', false],
      [{ ...sent, insecure: true }, 'http://collector:4318', true],
      [{ ...sent, endpoint: 'http://collector:4318/' }, 'http://collector:4318', true],
      [{ ...sent, endpoint: 'https://collector/a/b//' }, 'https://collector/a/b', false],
    ] as const) {
      const { otlp } = settingsOf(telemetry);
      assert.deepEqual([otlp?.base, otlp?.isPlain], [base, isPlain]);
    }
  });

  covers('telemetry.sampling-rate.default');
  test('the sampling rate is a text, 0.05 by default', () => {
    assert.equal(accepted({ telemetry: {} }).telemetry?.samplingRate, '0.05');
    assert.equal(settingsOf(sent).tracing?.samplingRate, 0.05);
    assert.equal(settingsOf({ ...sent, samplingRate: '.5' }).tracing?.samplingRate, 0.5);
  });

  test('what has no effect is warned of', () => {
    const warned = (telemetry: object) => warningsOf(accepted({ telemetry })).map((line) => line.split(':')[0]);
    assert.deepEqual(warned(sent), []);
    assert.deepEqual(warned({ tracingEnabled: true, metricsEnabled: true }), [
      'telemetry.tracingEnabled',
      'telemetry.metricsEnabled',
    ]);
    assert.deepEqual(warned({ endpoint: 'c:4318' }), ['telemetry.endpoint']);
    assert.deepEqual(warned({ ...sent, insecure: true, caCertPath: '/ca.pem' }), ['telemetry.caCertPath']);
  });
});

suite('the log level', () => {
  const linesAt = (logLevel: string): readonly string[] => {
    const lines: string[] = [];
    const kept = new Writable({
      write: (line: Buffer, _encoding, done) => {
        lines.push((JSON.parse(line.toString()) as { msg: string }).msg);
        done();
      },
    });
    const log = createLog({ level: levelOf(accepted({ operational: { logLevel } })) }, kept);
    log.debug({}, 'debug line');
    log.info({}, 'info line');
    return lines;
  };

  covers('telemetry.log-level.debug');
  test('debug writes debug lines', () => assert.deepEqual(linesAt('debug'), ['debug line', 'info line']));

  covers('telemetry.log-level.empty-info');
  test('empty means info', () => assert.deepEqual(linesAt(''), ['info line']));
});
