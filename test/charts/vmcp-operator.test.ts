import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { manifestFiles, writtenFiles } from '../../crds/generate.ts';
import { API_GROUP, kinds } from '../../crds/index.ts';
import { ownNamespaceRights, watchedRights, type PolicyRule } from '../../operator/api/rights.ts';
import { reconciledKinds } from '../../operator/kinds/index.ts';
import { helm } from '../cluster/index.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..');
const CHART = join(REPOSITORY, 'charts', 'vmcp-operator');

interface Rendered {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Record<string, string>;
  };
  readonly rules?: readonly (PolicyRule & { readonly resourceNames?: readonly string[] })[];
  readonly spec?: { readonly template: { readonly spec: PodSpec } };
}

interface PodSpec {
  readonly containers: readonly [Container];
  readonly enableServiceLinks: boolean;
  readonly securityContext: object;
  readonly nodeSelector?: object;
}

interface Container {
  readonly image: string;
  readonly env: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: object }[];
  readonly securityContext: object;
}

const render = async (...values: readonly string[]): Promise<Rendered[]> => {
  const sets = values.flatMap((value) => ['--set', value]);
  const text = await helm(['template', 'vmcp-operator', CHART, '--namespace', 'vmcp-system', ...sets]);
  return parseAllDocuments(text).flatMap((document) =>
    document.contents === null ? [] : [document.toJS() as Rendered],
  );
};

const one = (objects: readonly Rendered[], kind: string): Rendered => {
  const found = objects.filter((object) => object.kind === kind);
  assert.equal(found.length, 1, `one ${kind}`);
  return found[0] as Rendered;
};

const containerOf = (objects: readonly Rendered[]): Container => {
  const container = one(objects, 'Deployment').spec?.template.spec.containers[0];
  assert.ok(container);
  return container;
};

const environmentOf = (objects: readonly Rendered[]): Record<string, string | undefined> =>
  Object.fromEntries(containerOf(objects).env.map(({ name, value }) => [name, value]));

/** Every single right, so that it does not matter how they are put together to rules. */
const single = (rules: Rendered['rules']): string[] =>
  (rules ?? [])
    .flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}.${group}`)),
      ),
    )
    .sort();

describe('the chart', () => {
  test('passes Helm’s own check', async () => {
    await helm(['lint', '--strict', CHART]);
  });

  test('brings the CRDs as they are generated (run: npm run generate)', () => {
    const written = writtenFiles(pathToFileURL(join(CHART, 'files', 'crds/')));
    const generated = manifestFiles();
    const names = new Set([...written.keys(), ...generated.keys()]);
    assert.deepEqual(
      [...names].filter((name) => written.get(name) !== generated.get(name)),
      [],
    );
  });

  test('keeps the CRDs when it is uninstalled, and leaves them out when told to', async () => {
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
    const pluralOf = new Map<string, string>(Object.values(kinds).map(({ kind, plural }) => [kind, plural]));
    const plurals = (names: readonly string[]): string[] => [
      ...new Set(names.flatMap((name) => pluralOf.get(name) ?? [])),
    ];
    const reconciled = reconciledKinds().map(({ kind }) => kind);
    const read = reconciledKinds().flatMap(({ kind, reads }) => [kind, ...reads]);
    const owning = reconciledKinds().flatMap(({ kind, owns }) => (owns.length > 0 ? [kind] : []));
    const used = watchedRights(API_GROUP, {
      read: plurals(read),
      reconciled: plurals(reconciled),
      owning: plurals(owning),
    });
    assert.deepEqual(single(one(await render(), 'ClusterRole').rules), single(used));
  });

  test('grants in its own namespace exactly what the operator uses, for its own Lease and Secret alone', async () => {
    const role = one(await render(), 'Role');
    assert.equal(role.metadata.namespace, 'vmcp-system');
    assert.deepEqual(single(role.rules), single(ownNamespaceRights));
    for (const { verbs, resourceNames } of role.rules ?? []) {
      // RBAC cannot name what does not exist yet.
      assert.equal(resourceNames === undefined, verbs.includes('create'));
    }
  });

  for (const [name, value, complaint] of [
    ['an unknown value', 'replica=2', /additional properties 'replica' not allowed/],
    ['a level that is none', 'logLevel=loud', /logLevel.*must be one of/s],
    ['a number of replicas that is none', 'replicas=few', /replicas.*got string, want integer/s],
    ['a tag that is none', 'images.operator.tag=a b', /tag.*does not match pattern/s],
  ] as const) {
    test(`refuses ${name} before anything is installed`, () => assert.rejects(render(value), complaint));
  }
});
