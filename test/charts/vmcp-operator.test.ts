import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { API_GROUP, kinds } from '../../crds/index.ts';
import {
  operatorNamespaceRules,
  watchedNamespaceRules,
  webhookOperatorNamespaceRules,
  webhookRules,
} from '../../operator/api/rbac.ts';
import { GUARDED_KINDS } from '../../operator/admission/index.ts';
import { reconciledKinds } from '../../operator/kinds/index.ts';
import { helm } from '../cluster/index.ts';
import { CHART, one, render, singleRights, type Container, type Rendered } from './rendered.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..');
const WEBHOOK = 'vmcp-operator-webhook';

const containerOf = (objects: readonly Rendered[]): Container => {
  const container = one(objects, 'Deployment').spec?.template.spec.containers[0];
  assert.ok(container);
  return container;
};

const environmentOf = (objects: readonly Rendered[]): Record<string, string | undefined> =>
  Object.fromEntries(containerOf(objects).env.map(({ name, value }) => [name, value]));

const pluralOf = new Map<string, string>(Object.values(kinds).map(({ kind, plural }) => [kind, plural]));
const plurals = (names: readonly string[]): string[] => [...new Set(names.flatMap((name) => pluralOf.get(name) ?? []))];
/** What rules look at in other objects, and who uses shared configuration. */
const READ_AGAIN = [
  'MCPExternalAuthConfig',
  'MCPOIDCConfig',
  'MCPRemoteProxy',
  'MCPServer',
  'MCPServerEntry',
  'VirtualMCPServer',
];

const read = (): readonly string[] => reconciledKinds().flatMap(({ kind, reads }) => [kind, ...reads]);

describe('the chart', () => {
  test('passes Helm’s own check', async () => {
    await helm(['lint', '--strict', CHART]);
  });

  test('keeps the CRDs when it is uninstalled, and leaves them out where the values say so', async () => {
    const crds = (await render()).filter(({ kind }) => kind === 'CustomResourceDefinition');
    assert.equal(crds.length, Object.keys(kinds).length);
    for (const { metadata } of crds) assert.equal(metadata.annotations?.['helm.sh/resource-policy'], 'keep');
    const without = await render('crds.install=false');
    assert.ok(without.every(({ kind }) => kind !== 'CustomResourceDefinition'));
  });

  test('carries the version of the package', async () => {
    const { version } = JSON.parse(await readFile(join(REPOSITORY, 'package.json'), 'utf8')) as { version: string };
    const objects = await render();
    assert.equal(containerOf(objects).image, `vmcp-operator:${version}`);
    assert.equal(environmentOf(objects)['VMCP_IMAGE'], `vmcp:${version}`);
  });

  test('takes images from another registry', async () => {
    const objects = await render(
      'images.registry=registry.example.com/tools',
      'images.runtime.tag=v2',
      'images.operator.tag=v3',
    );
    assert.equal(containerOf(objects).image, 'registry.example.com/tools/vmcp-operator:v3');
    assert.equal(environmentOf(objects)['VMCP_IMAGE'], 'registry.example.com/tools/vmcp:v2');
  });

  test('names authorities that all servers trust', async () => {
    assert.equal(environmentOf(await render())['VMCP_TRUSTED_CA'], undefined);
    const objects = await render('trustedCa.configMap=company-ca', 'trustedCa.key=all.pem');
    assert.equal(environmentOf(objects)['VMCP_TRUSTED_CA'], 'company-ca/all.pem');
  });

  test('runs the operator without root and without a writable file system', async () => {
    const pod = one(await render(), 'Deployment').spec?.template.spec;
    assert.deepEqual(pod?.securityContext, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    assert.deepEqual(pod?.containers[0].securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    assert.equal(pod?.enableServiceLinks, false);
  });

  test('grants in every namespace exactly what the operator uses', async () => {
    const reconciled = reconciledKinds().map(({ kind }) => kind);
    const owning = reconciledKinds().flatMap(({ kind, owns }) => (owns.length > 0 ? [kind] : []));
    const used = watchedNamespaceRules(API_GROUP, {
      read: plurals(read()),
      reconciled: plurals(reconciled),
      owning: plurals(owning),
    });
    assert.deepEqual(singleRights(one(await render(), 'ClusterRole').rules), singleRights(used));
  });

  test('grants in its own namespace exactly what the operator uses, for its own Lease and Secret alone', async () => {
    const role = one(await render(), 'Role');
    assert.equal(role.metadata.namespace, 'vmcp-system');
    assert.deepEqual(singleRights(role.rules), singleRights(operatorNamespaceRules));
    for (const { verbs, resourceNames } of role.rules ?? []) {
      // RBAC cannot name what does not exist yet.
      assert.equal(resourceNames === undefined, verbs.includes('create'));
    }
  });

  test('grants the webhook exactly what it uses', async () => {
    const objects = await render();
    const everywhere = one(objects, 'ClusterRole', WEBHOOK).rules;
    assert.deepEqual(singleRights(everywhere), singleRights(webhookRules(API_GROUP, plurals(READ_AGAIN), WEBHOOK)));
    const configurations = everywhere?.find(({ resources }) => resources.includes('validatingwebhookconfigurations'));
    assert.deepEqual(configurations?.resourceNames, [WEBHOOK]);
    const own = one(objects, 'Role', WEBHOOK);
    assert.deepEqual(own.rules, webhookOperatorNamespaceRules);
    assert.equal(own.metadata.namespace, 'vmcp-system');
    for (const kind of ['ClusterRoleBinding', 'RoleBinding']) one(objects, kind, WEBHOOK);
  });

  test('leads the API server to the operator, and waits as long and as strictly as the values say', async () => {
    const objects = await render('webhook.failurePolicy=Fail', 'webhook.timeoutSeconds=3', 'webhook.port=10443');
    const container = containerOf(objects);
    assert.deepEqual(
      container.ports.find(({ name }) => name === 'webhook'),
      { name: 'webhook', containerPort: 10_443 },
    );
    assert.equal(environmentOf(objects)['VMCP_WEBHOOK_PORT'], '10443');
    assert.equal(environmentOf(objects)['VMCP_WEBHOOK_CONFIGURATION'], WEBHOOK);
    const service = one(objects, 'Service', WEBHOOK) as { readonly spec?: object };
    const selector = { 'app.kubernetes.io/name': 'vmcp-operator', 'app.kubernetes.io/instance': 'vmcp-operator' };
    assert.deepEqual(service.spec, { selector, ports: [{ name: 'webhook', port: 443, targetPort: 'webhook' }] });
    const webhooks = one(objects, 'ValidatingWebhookConfiguration', WEBHOOK).webhooks ?? [];
    assert.deepEqual(
      webhooks.map(({ name, failurePolicy, timeoutSeconds }) => [name, failurePolicy, timeoutSeconds]),
      [
        ['validate.vmcp.dev', 'Fail', 3],
        // Nothing may block what an operator that is gone guarded.
        ['validate-deletion.vmcp.dev', 'Ignore', 3],
      ],
    );
    for (const { clientConfig, sideEffects, namespaceSelector } of webhooks) {
      assert.equal(clientConfig.service.name, WEBHOOK);
      assert.equal(clientConfig.service.namespace, 'vmcp-system');
      // Helm would take it away again with every upgrade.
      assert.equal(clientConfig.caBundle, undefined);
      assert.equal(sideEffects, 'None');
      assert.equal(namespaceSelector, undefined);
    }
  });

  test('guards the deletion of exactly the kinds that the operator guards', async () => {
    const [, deletion] = one(await render(), 'ValidatingWebhookConfiguration', WEBHOOK).webhooks ?? [];
    assert.deepEqual(deletion?.rules[0]?.resources, plurals(GUARDED_KINDS));
    assert.deepEqual(deletion?.rules[0]?.operations, ['DELETE']);
  });

  test('asks the webhook about the namespaces that the operator looks after, and about no other', async () => {
    const objects = await render('namespaces={team-a,team-b}');
    assert.equal(environmentOf(objects)['VMCP_NAMESPACES'], 'team-a,team-b');
    for (const { namespaceSelector } of one(objects, 'ValidatingWebhookConfiguration', WEBHOOK).webhooks ?? []) {
      assert.deepEqual(namespaceSelector, {
        matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: ['team-a', 'team-b'] }],
      });
    }
  });

  test('leaves no trace of the webhook when it is switched off', async () => {
    const objects = await render('webhook.enabled=false');
    assert.deepEqual(
      objects.filter(({ metadata }) => metadata.name === WEBHOOK),
      [],
    );
    assert.ok(objects.every(({ kind }) => kind !== 'ValidatingWebhookConfiguration'));
    assert.ok(!containerOf(objects).ports.some(({ name }) => name === 'webhook'));
    assert.deepEqual(
      Object.keys(environmentOf(objects)).filter((name) => name.includes('WEBHOOK')),
      [],
    );
  });

  for (const [name, value, complaint] of [
    ['an unknown value', 'replica=2', /additional properties 'replica' not allowed/],
    ['a level that is none', 'logLevel=loud', /logLevel.*must be one of/s],
    ['a number of replicas that is none', 'replicas=few', /replicas.*got string, want integer/s],
    ['a policy that is none', 'webhook.failurePolicy=Maybe', /failurePolicy.*must be one of/s],
    ['a wait that the API server refuses', 'webhook.timeoutSeconds=31', /timeoutSeconds.*maximum/s],
    ['a tag that is none', 'images.operator.tag=a b', /tag.*does not match pattern/s],
  ] as const) {
    test(`refuses ${name} before anything is installed`, () => assert.rejects(render(value), complaint));
  }
});
