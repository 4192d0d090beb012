import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type * as z from 'zod';
import { objectSchema } from '../crds/crd.ts';
import { kinds } from '../crds/index.ts';
import type { SchemaNode } from '../crds/structural.ts';
import { problemsIn } from '../crds/validate.ts';
import { findingsIn } from '../runtime/config/explain.ts';
import { backendsFileSchema, configSchema, fileSchema, rulesOf, unsupportedIn } from '../runtime/config/index.ts';
import { fieldsOf, innerOf, itemOf } from '../runtime/config/schema-walk.ts';
import { recommendsLess, type Remedy, removalsIn } from './remedies.ts';

/** What messages once said, and what each was about. */
const ONCE_SAID: readonly (readonly [subject: string, remedy: string])[] = [
  ['incomingAuth', 'set oidcConfigRef, or choose another type'],
  ['spec', 'remove tokenExchange, or set type: tokenExchange'],
  ['spec.rateLimiting', 'set oidcConfigRef, or remove perUser'],
  ['spec.authzConfig', 'set oidcConfigRef, or remove authzConfig'],
  ['spec.authzConfig', 'upgrade the operator to the release of the CRDs, or remove the field'],
  ['spec.incomingAuth.jwt', 'remove it; known here: type, oidcConfigRef, authzConfig'],
  ['spec.incomingAuth.oidcConfigRef', 'write an object, or remove the field'],
  ['spec.incomingAuth.authzConfig.inline.policies', 'remove some'],
  ['incomingAuth.type', 'write oidc or local or anonymous'],
  ['spec.inline.issuer', 'use https://, or set insecureAllowHTTP for development'],
  ['issuer', 'use https://, or set insecureAllowHttp: true for development'],
  ['spec.openTelemetry.endpoint', 'remove insecure, or write http://'],
  ['spec.openTelemetry.caBundleRef', 'remove caBundleRef, or set insecure to false'],
  ['container', 'set runAsUser, or runAsNonRoot: false where it has to be root'],
];

test('a remedy that recommends less of a guard is told from one that does not', () => {
  for (const [subject, remedy] of ONCE_SAID) assert.ok(recommendsLess({ subject, remedy }), remedy);
  for (const [subject, remedy] of [
    ['spec', 'set type: tokenExchange'],
    ['spec.openTelemetry.caBundleRef', 'set insecure to false'],
    ['spec.openTelemetry.endpoint', 'set tracing.enabled or metrics.enabled to true, or remove endpoint'],
    ['spec.mcpPort', 'remove it'],
  ] as const)
    assert.ok(!recommendsLess({ subject, remedy }), remedy);
});

/** Of an unknown key all known ones are named, those that switch something off too: they are no advice. */
const withoutKnown = ({ subject, remedy }: Remedy): Remedy => ({
  subject,
  remedy: remedy.replace(/[(;] ?known here: .*/, ''),
});

const lines = (remedies: readonly Remedy[]): readonly string[] =>
  remedies
    .map(withoutKnown)
    .filter(recommendsLess)
    .map(({ subject, remedy }) => `${subject}: ${remedy}`);

type Nodes = readonly { readonly path: string; readonly node: SchemaNode }[];

const nodesIn = (node: SchemaNode, path: string): Nodes => [
  { path, node },
  ...Object.entries(node.properties ?? {}).flatMap(([name, child]) => nodesIn(child, `${path}.${name}`)),
  ...(node.items === undefined ? [] : nodesIn(node.items, `${path}[]`)),
  ...(node.additionalProperties === undefined ? [] : nodesIn(node.additionalProperties, `${path}.*`)),
];

type Schemas = readonly { readonly path: string; readonly schema: z.core.$ZodType }[];

const schemasIn = (schema: z.core.$ZodType, path: string, within: readonly z.core.$ZodType[] = []): Schemas => {
  if (within.includes(schema)) return [];
  const go = (next: z.core.$ZodType | undefined, step: string): Schemas =>
    next === undefined ? [] : schemasIn(next, `${path}${step}`, [...within, schema]);
  const { getter } = schema._zod.def as { readonly getter?: () => z.core.$ZodType };
  const inner = innerOf(schema) ?? getter?.();
  if (inner !== undefined) return [{ path, schema }, ...go(inner, '')];
  const fields = Object.entries(fieldsOf(schema) ?? {}).flatMap(([name, field]) => go(field, `.${name}`));
  return [{ path, schema }, ...fields, ...go(itemOf(schema), '[]')];
};

const nodes = Object.values(kinds).flatMap((definition) => nodesIn(objectSchema(definition), definition.kind));
const schemas = [
  ...schemasIn(fileSchema, 'config.yaml'),
  ...schemasIn(backendsFileSchema, 'backends.yaml'),
  ...schemasIn(configSchema, 'spec.config'),
  ...Object.values(kinds).flatMap(({ kind, spec }) => schemasIn(spec, `${kind}.spec`)),
];

const lastOf = (path: string): string => path.split('.').at(-1) ?? path;

test('no rule of a kind or of the file recommends to do without a guard', () => {
  const rules = [
    ...nodes.flatMap(({ path, node }) => (node.rules ?? []).map((rule) => ({ path, rule }))),
    ...schemas.flatMap(({ path, schema }) => rulesOf(schema).map((rule) => ({ path, rule }))),
  ];
  assert.ok(rules.length > 100, `${rules.length}`);
  const remedies = rules.map(({ path, rule }) => ({ subject: rule.field ?? lastOf(path), remedy: rule.remedy }));
  assert.deepEqual(lines(remedies), []);
});

/** No value of these is right everywhere: of every field some are wrong. */
const WRONG: readonly unknown[] = [null, 7, true, '', 'no such', ['x'], { noSuchField: 1 }];

test('nothing that is wrong in a field of a resource is to be mended by doing without a guard', () => {
  const remedies = nodes.flatMap(({ path, node }) =>
    WRONG.flatMap((value) =>
      problemsIn(node, value).map(({ path: below, remedy }) => ({ subject: `${path}.${below}`, remedy })),
    ),
  );
  assert.ok(remedies.length > 5000, `${remedies.length}`);
  // What is missing is named with its meaning, which may be that of a choice.
  assert.deepEqual(lines(remedies.filter(({ remedy }) => !remedy.startsWith('set ') || !remedy.includes('('))), []);
});

test('nothing that is wrong in a field of the file is to be mended by doing without a guard', () => {
  const remedies = schemas.flatMap(({ path, schema }) =>
    WRONG.flatMap((value) =>
      findingsIn(schema, value).map(({ path: below, remedy }) => ({ subject: [path, ...below].join('.'), remedy })),
    ),
  );
  assert.ok(remedies.length > 5000, `${remedies.length}`);
  // Of a choice that is missing every word is named.
  assert.deepEqual(lines(remedies.filter(({ remedy }) => !remedy.startsWith('add '))), []);
});

test('of a guard that does not exist yet no message says to do without it', () => {
  const remedies = schemas.flatMap(({ path, schema }) =>
    unsupportedIn(schema, { noSuchField: 1 }).map((each) => ({
      subject: [path, ...each.path].join('.'),
      remedy: each.remedy,
    })),
  );
  assert.ok(remedies.length > 5, `${remedies.length}`);
  assert.deepEqual(lines(remedies), []);
});

/** Everything that the sources recommend to remove, and what that is: nothing that guards. */
const REMOVED: Readonly<Record<string, string>> = {
  'crds/mcp-telemetry-config.ts: remove endpoint': 'an endpoint that nothing is sent to',
  'crds/virtual-mcp-server.ts: remove config.optimizer': 'the optimizer',
  'operator/admission/check-deletion.ts: delete what its status.referencingWorkloads names first': 'workloads',
  'operator/admission/credentials-secret.ts: delete it and new ones are made': 'a broken object that is made anew',
  'operator/read/backend-budget.ts: remove servers or members of their groups': 'workloads',
  'operator/engine/key-secret.ts: delete it and new ones are made': 'a broken object that is made anew',
  'operator/cache/memory-budget.ts: remove some objects or make them smaller': 'objects',
  'operator/local.ts: remove .vmcp/lock if it is something else': 'a file',
  'operator/local/local-file.ts: remove it': 'a file',
  'operator/plan/embedding-server/plan-embedding-server.ts: delete that StatefulSet': 'a workload that is made anew',
  'operator/plan/front/front-conditions.ts: remove primaryUpstreamProvider': 'a name that is ignored',
  'operator/plan/mcp-server/ignored-fields.ts: remove mcpPort': 'a port that is ignored',
  'operator/plan/mcp-server/ignored-fields.ts: remove sessionStorage': 'a store that is ignored',
  'operator/plan/server/status/conditions.ts: remove the list': 'backends',
  'operator/plan/server/status/ineffective.ts: remove primary_upstream_provider': 'a name that is ignored',
  'operator/plan/workload/pod-failures.ts: leave spec.serviceAccount out': 'the name of an account that is not there',
  'operator/read/directory.ts: remove it': 'a file',
  'operator/read/manifests.ts: remove it': 'metadata.namespace',
  'operator/read/manifests.ts: remove one of them': 'a manifest that is there twice',
  'operator/strategic-merge/problems.ts: delete or replace': 'a word of a patch',
  'operator/strategic-merge/problems.ts: remove it': 'a word of a patch',
  'operator/validate/address.ts: remove it': 'the query or fragment of an address',
  'operator/validate/address.ts: remove them': 'user and key in an address',
  'operator/validate/backend-url.ts: remove them': 'user and key in an address',
  'operator/validate/bridged-pod.ts: remove it': 'what a pod template changes of the bridge',
  'operator/validate/warnings.ts: remove it': 'config.telemetry, which telemetryConfigRef takes the place of',
  'operator/validate/headers.ts: remove line breaks and the like': 'characters',
  'operator/validate/pod-template-parts.ts: delete': 'containers and volumes of the user',
  'operator/validate/pod-template.ts: delete': 'mounts of the user',
  'operator/validate/pod-template.ts: leave out what no pod needs': 'elements of a pod template',
  'operator/validate/workload.ts: remove one of them': 'a variable that is there twice',
  'operator/write/apply.ts: delete it': 'an object of somebody else',
  'runtime/config/audit.ts: leave out': 'events',
  'runtime/config/auth-server.ts: remove clusterMode': 'clusterMode',
  'runtime/config/cross-checks.ts: remove db': 'the number of a database',
  'runtime/config/explain.ts: remove it here': 'extensions.service',
  'runtime/config/not-yet.ts: remove …': 'a feature outside GUARDS, see above',
  'runtime/config/rules.ts: leave the rest out': 'all but one of several ways to say the same',
  'runtime/config/service-metadata.ts: remove some': 'annotations and labels',
  'runtime/config/upstream-provider.ts: remove them': 'additionalAuthorizationParams',
  'runtime/config/workflow-graph.ts: remove one of the dependencies of the circle': 'dependsOn',
  'runtime/config/yaml-text.ts: remove it': 'a key that is no text',
  'runtime/config/yaml-text.ts: remove the tag': 'a tag of YAML',
  'runtime/optimizer/search/synonyms.ts: delete remove erase drop destroy': 'words that mean the same in a search',
  'runtime/optimizer/search/synonyms.ts: delete remove memory': 'words that mean the same in a search',
  'runtime/workflow-checks/elicitation-schema.ts: remove it': 'a keyword of a question',
  'runtime/workflow-checks/json-schema.ts: remove it': 'a keyword of a schema',
  'runtime/workflow-checks/step-fields.ts: remove it':
    'a field that another type of step, or another onError.action, has',
};

const root = new URL('..', import.meta.url);

/** Texts of more than one word, by file; comments aside. */
const textsOf = (file: string): readonly string[] =>
  readFileSync(new URL(file, root), 'utf8')
    .split('\n')
    .filter((line) => !/^\s*(?:\/\/|\/?\*)/.test(line))
    .flatMap((line) => line.match(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`/g) ?? [])
    .map((text) => text.slice(1, -1))
    .filter((text) => text.includes(' '));

const texts = globSync('{runtime,crds,operator}/**/*.ts', { cwd: root.pathname })
  .sort()
  .flatMap((file) => textsOf(file).map((text) => ({ file, text })));

test('whatever a message in the sources recommends to remove is listed here, and is no guard', () => {
  const found = texts.flatMap(({ file, text }) => removalsIn(text).map(({ clause }) => `${file}: ${clause}`));
  assert.deepEqual([...new Set(found)].toSorted(), Object.keys(REMOVED).toSorted());
  const remedies = Object.entries(REMOVED).map(([key, subject]) => ({
    subject,
    remedy: key.slice(key.indexOf(': ') + 2),
  }));
  assert.deepEqual(lines(remedies), []);
});

test('no remedy in the sources names another way to have less of a guard', () => {
  const IMPERATIVE = /^(?:add|choose|give|keep|let|make|name|put|set|use|write)\b/;
  const remedies = texts.flatMap(({ file, text }) =>
    text
      .split('; ')
      .filter((part) => IMPERATIVE.test(part))
      .map((remedy) => ({ subject: file, remedy })),
  );
  assert.ok(remedies.length > 100, `${remedies.length}`);
  assert.deepEqual(lines(remedies), []);
});
