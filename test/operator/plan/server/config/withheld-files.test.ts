import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../../../../operator/object.ts';
import type { Plan } from '../../../../../operator/plan/plan.ts';
import { backendFiles } from '../../../../../operator/plan/server/config/render.ts';
import { configMap, planOf, servedBefore } from '../../plan-with-everything-built.ts';
import { made } from '../../made.ts';
import { condition, entry, group, planned, podSpecOf, server } from '../../plan-of-demo.ts';

const header = (secret: string): KubeObject =>
  made('MCPExternalAuthConfig', 'key', {
    type: 'headerInjection',
    headerInjection: { headerName: 'x-key', valueSecretRef: { name: secret, key: 'value' } },
  });

const member = (spec: object = {}): KubeObject =>
  entry('a', {
    remoteUrl: 'https://a.example/mcp',
    caBundleRef: { configMapRef: { name: 'authorities', key: 'ca.pem' } },
    externalAuthConfigRef: { name: 'key' },
    ...spec,
  });

const planFor = (...more: readonly KubeObject[]): Plan =>
  planOf(server(), group(), member(), configMap('authorities'), ...more);

const templateOf = (plan: Plan): unknown =>
  (planned(plan, 'Deployment')['spec'] as { readonly template: object }).template;

const secretsIn = (plan: Plan): readonly unknown[] => {
  const volumes = podSpecOf(plan)['volumes'] as readonly {
    readonly name: string;
    readonly projected: { readonly sources: readonly { readonly secret: { readonly name: string } }[] };
  }[];
  const volume = volumes.find(({ name }) => name === 'vmcp-secrets');
  return (volume?.projected.sources ?? []).map(({ secret }) => secret.name);
};

test('a backend whose MCPExternalAuthConfig vanishes is withheld, and comes back without new pods', () => {
  const first = planFor(header('one'));
  const without = planFor(...servedBefore(first));
  assert.equal(condition(without, 'BackendsWithheld')?.reason, 'AuthConfigNotFound');
  assert.doesNotMatch(without.config?.['backends.yaml'] ?? '', /url:|headerValueFile|caBundlePath/);
  assert.deepEqual(templateOf(without), templateOf(first));
  const back = planFor(header('one'), ...servedBefore(without));
  assert.deepEqual(back.config, first.config);
  assert.deepEqual(templateOf(back), templateOf(first));
});

test('so does one whose MCPExternalAuthConfig cannot be used for a while', () => {
  const first = planFor(header('one'));
  const upstream = { type: 'upstreamInject', upstreamInject: { providerName: 'nobody' } };
  const unusable = planFor(made('MCPExternalAuthConfig', 'key', upstream), ...servedBefore(first));
  assert.equal(condition(unusable, 'BackendsWithheld')?.reason, 'AuthConfigInvalid');
  assert.deepEqual(templateOf(unusable), templateOf(first));
});

test('nothing is kept for a backend that asks for no credentials any more, or for others', () => {
  const first = planFor(header('one'));
  const open = member({ externalAuthConfigRef: undefined });
  const later = planOf(server(), group(), open, configMap('authorities'), ...servedBefore(first));
  assert.deepEqual(secretsIn(later), []);
  assert.deepEqual(secretsIn(planFor(header('two'), ...servedBefore(first))), ['two']);
});

test('while one is withheld, pods keep what is its own alone, and lose the files of a backend that has gone', () => {
  const other = entry('b', {
    headerForward: { addHeadersFromSecret: [{ headerName: 'x-b', valueSecretRef: { name: 'other', key: 'b' } }] },
  });
  const both = planFor(header('one'), other);
  assert.deepEqual(secretsIn(both), ['one', 'other']);
  const withheld = planFor(other, ...servedBefore(both));
  assert.deepEqual(templateOf(withheld), templateOf(both));
  const alone = planFor(...servedBefore(withheld));
  assert.deepEqual(secretsIn(alone), ['one']);
  const back = planFor(header('one'), ...servedBefore(alone));
  assert.deepEqual(templateOf(back), templateOf(alone));
  assert.deepEqual(templateOf(back), templateOf(planFor(header('one'))));
});

test('a backend that came too late for a name takes nothing from the one that has it', () => {
  const holder = {
    name: 'a',
    entry: { name: 'a', url: 'http://a/mcp', transport: 'sse', caBundlePath: '/new' },
  } as const;
  const late = { name: 'a', withheld: { reason: 'NameTaken', message: '' } } as const;
  assert.deepEqual(backendFiles([holder, late], ['/new'], { a: ['/old'] }), { a: ['/new'] });
});

test('pods that are replaced anyway mount what is named, and nothing of what is withheld', () => {
  const first = planFor(header('one'));
  const other = entry('b', {
    headerForward: { addHeadersFromSecret: [{ headerName: 'x-b', valueSecretRef: { name: 'other', key: 'b' } }] },
  });
  assert.deepEqual(secretsIn(planFor(other, ...servedBefore(first))), ['other']);
});
