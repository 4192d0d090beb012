import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { one, render, type Rendered } from './rendered.ts';
import { documentedMetrics } from './runtime-metrics.ts';

/** What the operator tells of itself, and the labels of each (docs/install.md "Monitoring"). */
const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  vmcp_operator_reconciles_total: ['kind', 'result'],
  vmcp_operator_reconcile_duration_seconds_bucket: ['kind', 'le'],
  vmcp_operator_queue_depth: [],
  vmcp_operator_queue_wait_seconds_bucket: ['le'],
  vmcp_operator_retries_total: ['kind'],
  vmcp_operator_api_requests_total: ['verb', 'kind', 'code'],
  vmcp_operator_api_request_duration_seconds_bucket: ['verb', 'le'],
  vmcp_operator_leader: [],
  vmcp_operator_watch_restarts_total: ['kind'],
  vmcp_operator_admission_reviews_total: ['kind', 'operation', 'allowed'],
  vmcp_operator_build_info: ['version'],
  vmcp_operator_servers: ['phase'],
};

/** The series of the servers' metrics, with their labels. */
const SERVERS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  documentedMetrics().flatMap(({ name, kind, labels }) =>
    kind === 'histogram'
      ? [
          [`${name}_bucket`, [...labels, 'le']],
          [`${name}_count`, labels],
        ]
      : [[name, labels]],
  ),
);

const METRICS = { ...OPERATORS, ...SERVERS };

/** What Prometheus adds to every one of them. */
const OF_THE_TARGET = ['namespace', 'pod'];

const ALL = ['serviceMonitor', 'podMonitor', 'rules', 'dashboards'].map((name) => `metrics.${name}.enabled=true`);

interface Endpoint {
  readonly port: string;
  readonly path: string;
  readonly interval: string;
}

interface ServiceMonitor {
  readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly endpoints: readonly Endpoint[];
}

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly description: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const specOf = (object: Rendered): unknown => (object as { readonly spec?: unknown }).spec;

const alertsOf = (objects: readonly Rendered[]): readonly Alert[] => {
  const { groups } = specOf(one(objects, 'PrometheusRule')) as { readonly groups: readonly { rules: Alert[] }[] };
  return groups.flatMap(({ rules }) => rules);
};

/** The panels of each dashboard. */
const dashboardsOf = (objects: readonly Rendered[]): readonly (readonly Panel[])[] => {
  const texts = Object.values(one(objects, 'ConfigMap', 'vmcp-operator-dashboards').data ?? {});
  return texts.map((text) => (JSON.parse(text) as { readonly panels: readonly Panel[] }).panels);
};

const panelsOf = (objects: readonly Rendered[]): readonly Panel[] => dashboardsOf(objects).flat();

/** Names outside of braces and groupings, of our metrics or of the process. */
const metricsIn = (expression: string): readonly string[] =>
  expression
    .replaceAll(/\bby \([^)]*\)/g, '')
    .replaceAll(/\{[^}]*\}/g, '{}')
    .match(/\b(vmcp|mcp|process|nodejs)_\w+/g) ?? [];

/** Every label that is grouped by or matched. */
const labelsIn = (expression: string): readonly string[] => [
  ...[...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names = '']) => names.split(/,\s*/)),
  ...[...expression.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].flatMap(([, name = '']) => name),
];

const isBalanced = (text: string): boolean => {
  const closing: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };
  const open: string[] = [];
  for (const sign of text.replaceAll(/"[^"]*"/g, '')) {
    if (Object.values(closing).includes(sign)) open.push(sign);
    if (sign in closing && open.pop() !== closing[sign]) return false;
  }
  return open.length === 0;
};

const checkExpression = (where: string, expression: string): void => {
  const metrics = metricsIn(expression);
  assert.ok(metrics.length > 0, where);
  const labels = metrics.flatMap((metric) => METRICS[metric] ?? assert.fail(`${where}: no metric ${metric}`));
  for (const label of labelsIn(expression))
    assert.ok([...labels, ...OF_THE_TARGET].includes(label), `${where}: ${label}`);
  assert.ok(isBalanced(expression), where);
};

describe('monitoring by the chart', () => {
  test('needs no product that was not asked for: every such resource is off by default', async () => {
    const objects = await render();
    assert.ok(objects.every(({ apiVersion }) => !apiVersion.startsWith('monitoring.coreos.com/')));
    assert.ok(objects.every(({ kind }) => kind !== 'ConfigMap'));
  });

  test('a Service without an address of its own leads to the metrics of every replica', async () => {
    assert.deepEqual(specOf(one(await render(), 'Service', 'vmcp-operator-metrics')), {
      clusterIP: 'None',
      selector: { 'app.kubernetes.io/name': 'vmcp-operator', 'app.kubernetes.io/instance': 'vmcp-operator' },
      ports: [{ name: 'metrics', port: 8080, targetPort: 'health' }],
    });
  });

  test('a ServiceMonitor selects that Service and no other, and is labelled as asked', async () => {
    const objects = await render(
      'metrics.serviceMonitor.enabled=true',
      'metrics.serviceMonitor.labels.release=prometheus',
      'metrics.serviceMonitor.interval=15s',
    );
    const monitor = one(objects, 'ServiceMonitor');
    assert.equal(monitor.metadata.labels?.['release'], 'prometheus');
    const { selector, endpoints } = specOf(monitor) as ServiceMonitor;
    assert.deepEqual(endpoints, [{ port: 'metrics', path: '/metrics', interval: '15s' }]);
    const selected = objects.filter(
      ({ kind, metadata }) =>
        kind === 'Service' &&
        Object.entries(selector.matchLabels).every(([name, value]) => metadata.labels?.[name] === value),
    );
    assert.deepEqual(
      selected.map(({ metadata }) => metadata.name),
      ['vmcp-operator-metrics'],
    );
  });

  test('a PodMonitor selects the pods of servers by the port that only they have, in the watched namespaces', async () => {
    const monitorOf = async (...values: readonly string[]) =>
      specOf(
        one(await render('metrics.podMonitor.enabled=true', ...values), 'PodMonitor', 'vmcp-operator-servers'),
      ) as Record<string, unknown>;
    const { selector, namespaceSelector, podMetricsEndpoints } = await monitorOf('metrics.podMonitor.interval=15s');
    assert.deepEqual(selector, { matchLabels: { 'app.kubernetes.io/managed-by': 'vmcp-operator' } });
    assert.deepEqual(namespaceSelector, { any: true });
    assert.deepEqual(podMetricsEndpoints, [{ port: 'management', path: '/metrics', interval: '15s' }]);
    assert.deepEqual((await monitorOf('namespaces={a,b}'))['namespaceSelector'], { matchNames: ['a', 'b'] });
  });

  test('every alert asks for metrics that there are, tells what is the matter, and what to do', async () => {
    const alerts = alertsOf(await render(...ALL));
    assert.equal(new Set(alerts.map(({ alert }) => alert)).size, alerts.length);
    for (const { alert, expr, labels, annotations, ...rest } of alerts) {
      checkExpression(alert, expr);
      assert.match(rest.for, /^\d+m$/, alert);
      assert.match(labels.severity, /^(critical|warning)$/, alert);
      assert.match(annotations.summary, /\.$/, alert);
      assert.match(annotations.description, /\.$/, alert);
      const named = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, name = '']) => name);
      for (const name of named) assert.ok(labelsIn(expr).includes(name), `${alert} names ${name}`);
    }
  });

  test('the dashboard asks for metrics that there are, shows all of them, and no panel covers another', async () => {
    const panels = panelsOf(await render(...ALL));
    for (const { title, description, targets } of panels) {
      assert.match(description, /\.$/, title);
      for (const { expr, legendFormat } of targets) {
        checkExpression(title, expr);
        const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, name = '']) => name);
        for (const name of named) assert.ok(labelsIn(expr).includes(name), `${title} names ${name}`);
      }
    }
    const shown = new Set(panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => metricsIn(expr))));
    assert.deepEqual([...shown].toSorted(), Object.keys(METRICS).toSorted());
    for (const ofOne of dashboardsOf(await render(...ALL))) {
      assert.equal(new Set(ofOne.map(({ id }) => id)).size, ofOne.length);
      const cells = ofOne.flatMap(({ gridPos: { x, y, w, h } }) =>
        Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
      );
      assert.equal(new Set(cells).size, cells.length);
    }
  });

  test('Grafana’s sidecar finds the dashboards by their label', async () => {
    const { metadata } = one(await render(...ALL), 'ConfigMap', 'vmcp-operator-dashboards');
    assert.equal(metadata.labels?.['grafana_dashboard'], '1');
  });
});
