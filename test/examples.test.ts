import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { API_GROUP, parseResource } from '../crds/index.ts';
import { reconciledKinds } from '../operator/kinds/index.ts';
import { planEverything } from '../operator/kinds/plan-everything.ts';
import { type KubeObject, keyOf } from '../operator/object.ts';
import type { Contract } from '../operator/plan/contract.ts';
import { objectsSource } from '../operator/read/source.ts';
import { type Example, examples, isManifest } from './fixtures/examples.ts';
import { DEFAULT_SETTINGS, everythingBuilt } from './operator/plan/golden.ts';
import { made } from './operator/plan/made.ts';
import { condition } from './operator/plan/plan-of-demo.ts';
import { accepted } from './runtime/config/files.ts';

/** As the API server stores it: it has passed the schema and its CEL rules (`test/crds/verdicts.apiserver.test.ts`). */
const stored = (manifest: KubeObject): KubeObject => {
  const parsed = parseResource({ ...manifest, metadata: { namespace: 'default', ...manifest.metadata } });
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return { ...parsed.value, metadata: { ...parsed.value.metadata, uid: 'u' } };
};

/** Why the list of validators, or the runtime, does not take it; undefined when both do. */
const refusalOf = (object: KubeObject, contract?: Contract): string | undefined => {
  const whole = { source: objectsSource([object]), namespaces: ['default'] };
  const planned = planEverything(reconciledKinds(contract), whole, DEFAULT_SETTINGS);
  const { plan } =
    planned.find((each) => keyOf(each.object).name === object.metadata.name) ?? assert.fail('not planned');
  const valid = condition(plan, 'Valid');
  return valid?.status === 'False' ? valid.reason : undefined;
};

/** What is rendered for it, but cannot be served yet, says so in its text. */
const assertServed = ({ text }: Example, manifest: KubeObject): void => {
  const object = stored(manifest);
  assert.equal(refusalOf(object, everythingBuilt()), undefined);
  assert.equal(refusalOf(object), /not yet/i.test(text) ? 'NotSupportedYet' : undefined);
};

const serverWith = (spec: object): KubeObject =>
  made('VirtualMCPServer', 'it', { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' }, ...spec });

/** Parts are known by their keys: of a VirtualMCPServer, and else of the configuration file of a runtime. */
const assertPart = (example: Example): void => {
  const { spec, config, ...more } = example.value;
  if (spec === undefined && config === undefined) void accepted(more);
  else assertServed(example, serverWith({ ...(config === undefined ? {} : { config }), ...(spec as object) }));
};

/** Of neither: values of the chart, the settings of local mode, and single identity providers. Each has its own test. */
const OF_OTHER_FILES =
  /^docs\/((?:install|telemetry)\.md:\d+: metrics|local-mode\.md:\d+: backends|upstream-providers\.md:)/;

const isJudgedElsewhere = ({ at, value }: Example): boolean =>
  isManifest(value)
    ? // `test/charts/vmcp-operator.apiserver.test.ts` shows them to a real API server.
      !value.apiVersion.startsWith(API_GROUP)
    : OF_OTHER_FILES.test(`${at}: ${Object.keys(value)[0]}`);

describe('every example that readers are shown is served as written', () => {
  for (const example of examples().filter((each) => !isJudgedElsewhere(each)))
    test(example.at, () => {
      if (isManifest(example.value)) assertServed(example, example.value);
      else assertPart(example);
    });
});
