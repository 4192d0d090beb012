import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { CHART, renderText } from './rendered.ts';

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
type JsonMap = { readonly [key: string]: Json };

interface Change {
  readonly to: Json;
  /** What must be set for the value to have any effect. */
  readonly given?: readonly string[];
}

const policy = { given: ['networkPolicy.enabled=true'] };
const servers = { given: ['networkPolicy.serverNamespaces=["team-a"]'] };
const peers = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }];

/** One other value for each value of the chart. */
const changes: Readonly<Record<string, Change>> = {
  'images.registry': { to: 'registry.example.com' },
  'images.operator.repository': { to: 'tools/operator' },
  'images.operator.tag': { to: 'v9' },
  'images.operator.pullPolicy': { to: 'Always' },
  'images.runtime.repository': { to: 'tools/runtime' },
  'images.runtime.tag': { to: 'v9' },
  pullSecrets: { to: ['registry'] },
  replicas: { to: 2 },
  'podDisruptionBudget.enabled': { to: false },
  'podDisruptionBudget.maxUnavailable': { to: '50%' },
  topologySpreadConstraints: {
    to: [{ maxSkew: 2, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' }],
  },
  priorityClassName: { to: 'system-cluster-critical' },
  podLabels: { to: { team: 'platform' } },
  podAnnotations: { to: { 'example.com/scrape': 'true' } },
  namespaces: { to: ['team-a'] },
  'webhook.enabled': { to: false },
  'webhook.failurePolicy': { to: 'Fail' },
  'webhook.timeoutSeconds': { to: 3 },
  'webhook.port': { to: 10_443 },
  'webhook.clientCa.configMap': { to: 'api-server-ca' },
  'webhook.clientCa.key': { to: 'client-ca.pem', given: ['webhook.clientCa.configMap="api-server-ca"'] },
  'networkPolicy.enabled': { to: true },
  'networkPolicy.apiServer.cidrs': { to: ['192.0.2.1/32'], ...policy },
  'networkPolicy.apiServer.ports': { to: [8443], ...policy },
  'networkPolicy.scrapers': { to: peers, ...policy },
  'networkPolicy.serverNamespaces': { to: ['team-a'] },
  'networkPolicy.clients': { to: peers, ...servers },
  'metrics.podMonitor.enabled': { to: true },
  'metrics.podMonitor.interval': { to: '1m30s', given: ['metrics.podMonitor.enabled=true'] },
  'metrics.podMonitor.labels': { to: { release: 'prometheus' }, given: ['metrics.podMonitor.enabled=true'] },
  'metrics.serviceMonitor.enabled': { to: true },
  'metrics.serviceMonitor.interval': { to: '1m30s', given: ['metrics.serviceMonitor.enabled=true'] },
  'metrics.serviceMonitor.labels': { to: { release: 'prometheus' }, given: ['metrics.serviceMonitor.enabled=true'] },
  'metrics.rules.enabled': { to: true },
  'metrics.rules.labels': { to: { release: 'prometheus' }, given: ['metrics.rules.enabled=true'] },
  'metrics.dashboards.enabled': { to: true },
  'metrics.dashboards.labels': { to: { grafana_dashboard: 'team' }, given: ['metrics.dashboards.enabled=true'] },
  clusterDomain: { to: 'example.internal' },
  'trustedCa.configMap': { to: 'company-ca' },
  'trustedCa.key': { to: 'all.pem', given: ['trustedCa.configMap="company-ca"'] },
  logLevel: { to: 'debug' },
  resources: { to: { limits: { memory: '1Gi' } } },
  nodeSelector: { to: { disk: 'fast' } },
  tolerations: { to: [{ key: 'dedicated', operator: 'Exists' }] },
  affinity: { to: { nodeAffinity: {} } },
  'crds.install': { to: false },
  'crds.keep': { to: false },
};

const isMap = (value: Json | undefined): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly additionalProperties?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly $ref?: string;
  readonly definitions?: Readonly<Record<string, Schema>>;
}

const schema = JSON.parse(await readFile(join(CHART, 'values.schema.json'), 'utf8')) as Schema;
const defaults = parse(await readFile(join(CHART, 'values.yaml'), 'utf8')) as JsonMap;

/** What the schema describes by name, `global` left out, which is Helm's own. */
const pathsOf = (at: Schema, path: readonly string[] = []): string[] =>
  path.length > 0 && (at.properties === undefined || Array.isArray(valueAt(path)) || isFree(path))
    ? [path.join('.')]
    : Object.entries(at.properties ?? {}).flatMap(([name, next]) =>
        name === 'global' ? [] : pathsOf(next, [...path, name]),
      );

/** Handed to Kubernetes as it stands. */
const isFree = (path: readonly string[]): boolean => ['resources', 'affinity'].includes(path.join('.'));

const valueAt = (path: readonly string[]): Json | undefined =>
  path.reduce<Json | undefined>((value, name) => (isMap(value) ? value[name] : undefined), defaults);

/** Every schema inside this one, with where it is. */
const inside = (at: Schema, path: string): (readonly [string, Schema])[] => [
  [path, at],
  ...Object.entries(at.properties ?? {}).flatMap(([name, next]) => inside(next, `${path}.${name}`)),
  ...(at.items === undefined ? [] : inside(at.items, `${path}[]`)),
  ...Object.entries(at.definitions ?? {}).flatMap(([name, next]) => inside(next, `definitions.${name}`)),
];

const rendered = new Map<string, Promise<string>>();

/** What is installed without the change; rendered once. */
const without = (given: readonly string[]): Promise<string> => {
  const key = given.join();
  const text = rendered.get(key) ?? renderText(given, '--set-json');
  rendered.set(key, text);
  return text;
};

describe('the values of the chart', () => {
  test('are all in values.yaml, in the schema and in the table below', () => {
    const paths = pathsOf(schema);
    assert.deepEqual(paths.toSorted(), Object.keys(changes).toSorted());
    for (const path of paths) assert.notEqual(valueAt(path.split('.')), undefined, `${path} has no default`);
  });

  test('are each described, and no map of theirs takes another name', () => {
    for (const [path, each] of inside(schema, '$')) {
      if (each.properties !== undefined) assert.equal(each.additionalProperties, false, path);
      for (const [name, next] of Object.entries(each.properties ?? {})) {
        assert.match(next.description ?? '', /\.$/, `${path}.${name}`);
      }
    }
  });

  for (const [path, { to, given = [] }] of Object.entries(changes)) {
    test(`${path} is seen in what is installed`, async () => {
      const before = await without(given);
      const after = await renderText([...given, `${path}=${JSON.stringify(to)}`], '--set-json');
      assert.notEqual(after, before);
    });
  }

  for (const path of new Set(Object.keys(changes).map((each) => each.split('.').slice(0, -1).join('.')))) {
    test(`an unknown value is refused ${path === '' ? 'at the top' : `in ${path}`}`, async () => {
      const name = path === '' ? 'another' : `${path}.another`;
      await assert.rejects(renderText([`${name}=1`]), /additional properties 'another' not allowed/);
    });
  }

  for (const [value, complaint] of [
    ['networkPolicy.scrapers=[{"pods":{}}]', /additional properties 'pods' not allowed/],
    ['networkPolicy.scrapers=[{}]', /minProperties/],
    ['networkPolicy.apiServer.ports=[]', /minItems/],
    ['topologySpreadConstraints=[{"maxSkew":1}]', /missing propert/],
    ['podDisruptionBudget.maxUnavailable="half"', /maxUnavailable/],
    ['metrics.serviceMonitor.interval="30"', /interval.*does not match pattern/s],
    ['podLabels={"a":1}', /podLabels.*want string/s],
    ['namespaces=["Team"]', /namespaces.*does not match pattern/s],
  ] as const) {
    test(`${value} is refused`, () => assert.rejects(renderText([value], '--set-json'), complaint));
  }
});
