import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createMetrics, MAX_READINGS, MAX_SERIES, MAX_VALUES } from '../../../../runtime/observe/index.ts';

suite('the meter', () => {
  test('shows a counter under the name and the labels that Prometheus wants', () => {
    const { meter, text } = createMetrics();
    const decided = meter.counter({ name: 'vmcp.policy.decisions', help: 'Decisions.', labels: ['vmcp.decision'] });
    decided({ 'vmcp.decision': 'deny' });
    decided({ 'vmcp.decision': 'deny' }, 2);
    assert.match(text(), /^vmcp_policy_decisions_total\{vmcp_decision="deny"\} 3$/m);
  });

  test('shows a histogram with its unit, and a label without a value not at all', () => {
    const { meter, text } = createMetrics();
    const took = meter.histogram({ name: 'a.duration', help: 'Took.', unit: 's', labels: ['b', 'c'], buckets: [1, 2] });
    took(1.5, { b: 'x', c: undefined });
    took(1.5, { b: 'x', c: '' });
    assert.match(text(), /^a_duration_seconds_bucket\{le="2",b="x"\} 2$/m);
    assert.match(text(), /^a_duration_seconds_sum\{b="x"\} 3$/m);
  });

  test('reads gauges when the metrics are read, and forgets what is gone', () => {
    const { meter, text } = createMetrics();
    let backends = ['a', 'b'];
    meter.gauge({ name: 'vmcp.backends', help: 'Backends.', labels: ['backend'] }, () =>
      backends.map((backend) => [{ backend }, 1] as const),
    );
    meter.gauge({ name: 'vmcp.sessions', help: 'Sessions.' }, () => backends.length);
    assert.match(text(), /^vmcp_backends\{backend="a"\} 1$/m);
    assert.match(text(), /^vmcp_sessions 2$/m);
    backends = ['b'];
    assert.doesNotMatch(text(), /backend="a"/);
    assert.match(text(), /^vmcp_sessions 1$/m);
  });

  test('reads a counter that is kept elsewhere when the metrics are read', () => {
    const { meter, text } = createMetrics();
    const counts = { written: 1, dropped: 0 };
    meter.observableCounter({ name: 'events', help: 'Events.', labels: ['is'] }, () =>
      Object.entries(counts).map(([is, value]) => [{ is }, value] as const),
    );
    counts.written += 2;
    assert.match(
      text(),
      /^# TYPE events_total counter\nevents_total\{is="written"\} 3\nevents_total\{is="dropped"\} 0$/m,
    );
  });

  test('tells a bounded number of values of a label apart', () => {
    const { meter, text } = createMetrics();
    const count = meter.counter({ name: 'calls', help: 'Calls.', labels: ['tool', 'method'] });
    for (let at = 0; at < MAX_VALUES + 50; at += 1) count({ tool: `t${at}`, method: 'tools/call' });
    count({ tool: 't0', method: 'tools/call' });
    const lines = text()
      .split('\n')
      .filter((line) => line.startsWith('calls_total{'));
    assert.equal(lines.length, MAX_VALUES + 1);
    assert.ok(lines.includes('calls_total{tool="other",method="tools/call"} 50'), lines.at(-1));
    assert.ok(lines.includes('calls_total{tool="t0",method="tools/call"} 2'));
  });

  test('shows a bounded number of readings of a gauge', () => {
    const { meter, text } = createMetrics();
    meter.gauge({ name: 'g', help: 'G.', labels: ['l'] }, () =>
      Array.from({ length: MAX_READINGS + 10 }, (_, at) => [{ l: String(at) }, 1] as const),
    );
    assert.equal(
      text()
        .split('\n')
        .filter((line) => line.startsWith('g{')).length,
      MAX_READINGS,
    );
  });

  test('cuts long values, and writes what a stranger chose so that it ends no line', () => {
    const { meter, text } = createMetrics();
    const count = meter.counter({ name: 'c', help: 'C.', labels: ['tool'] });
    count({ tool: `x"\n# HELP${'y'.repeat(1_000)}` });
    const line =
      text()
        .split('\n')
        .find((each) => each.startsWith('c_total{')) ?? '';
    assert.match(line, /^c_total\{tool="x\\"\\n# HELPy+…"\} 1$/);
    assert.ok(line.length < 200);
  });

  test('gives the same as values, under OpenTelemetry’s names', () => {
    const { meter, measured } = createMetrics();
    const took = meter.histogram({ name: 'a.b', help: 'H.', unit: 's', labels: ['c.d'], buckets: [1, 2] });
    took(0.5, { 'c.d': 'x' });
    took(1.5, { 'c.d': 'x' });
    took(9, { 'c.d': 'x' });
    took(9, {});
    meter.counter({ name: 'n', help: 'N.' })({}, 4);
    meter.gauge({ name: 'bytes', help: 'B.', unit: 'By' }, () => 7);
    assert.deepEqual(measured(), [
      {
        kind: 'histogram',
        name: 'a.b',
        help: 'H.',
        unit: 's',
        buckets: [1, 2],
        series: [
          { labels: { 'c.d': 'x' }, value: 11, counts: [1, 1, 1] },
          { labels: {}, value: 9, counts: [0, 0, 1] },
        ],
      },
      { kind: 'counter', name: 'n', help: 'N.', unit: '', buckets: [], series: [{ labels: {}, value: 4, counts: [] }] },
      {
        kind: 'gauge',
        name: 'bytes',
        help: 'B.',
        unit: 'By',
        buckets: [],
        series: [{ labels: {}, value: 7, counts: [] }],
      },
    ]);
  });

  test('has a bounded number of series, whatever their labels are together', () => {
    const { meter, measured } = createMetrics();
    const count = meter.counter({ name: 'c', help: 'C.', labels: ['a', 'b'] });
    for (let a = 0; a < 150; a += 1) for (let b = 0; b < 150; b += 1) count({ a: `${a}`, b: `${b}` });
    const series = measured()[0]?.series ?? [];
    assert.equal(series.length, MAX_SERIES + 1);
    assert.deepEqual(series.at(-1), { labels: { a: 'other', b: 'other' }, value: 150 * 150 - MAX_SERIES, counts: [] });
  });

  test('refuses a second instrument of one name', () => {
    const { meter } = createMetrics();
    meter.counter({ name: 'n', help: 'N.' });
    assert.throws(() => meter.counter({ name: 'n', help: 'N.' }), /already been registered/);
  });
});
