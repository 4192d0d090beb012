import { readFileSync, writeFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { API_GROUP, parseResource } from '../../../crds/index.ts';
import { reconciledKinds } from '../../../operator/kinds/index.ts';
import { type Planned, namespacesOf, planEverything } from '../../../operator/kinds/plan-everything.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { type Contract, type Refusal, newContract } from '../../../operator/plan/contract.ts';
import type { PodReports } from '../../../operator/plan/server/bundle.ts';
import type { Settings } from '../../../operator/plan/settings.ts';
import { type Source, objectsSource } from '../../../operator/read/source.ts';
import { joinDocuments, planDocuments } from '../../../operator/write/stdout.ts';
import type { StatusReport } from '../../../runtime/status/report.ts';

const MARKER = '# Output\n';

/** One file of `test/manifests`: manifests as the API server holds them, the marker, then what is planned for them. */
export interface Golden {
  readonly input: string;
  readonly output: string;
}

export const readGolden = (path: string): Golden => {
  const [input = '', output = ''] = readFileSync(path, 'utf8').split(MARKER);
  return { input, output };
};

export const writeGolden = (path: string, input: string, output: string): void =>
  writeFileSync(path, `${input.trimEnd()}\n${MARKER}${output}`);

export const DEFAULT_SETTINGS: Settings = {
  clusterDomain: 'cluster.local',
  runtimeImage: 'ghcr.io/example/vmcp:0.1.0',
  bridgeImage: 'ghcr.io/example/vmcp-operator:0.1.0',
  operatorNamespace: 'vmcp-system',
  operatorKeys: [{ kty: 'OKP', crv: 'Ed25519', kid: 'k1', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }],
  mac: { sign: () => 'sealed', verify: (seal) => seal === 'sealed' },
};

/** As if everything that a schema can ask for were built, and all else were judged as ever. */
export const everythingBuilt = (): Contract => {
  const contract = newContract();
  const judged = (refusals: readonly Refusal[]): readonly Refusal[] =>
    refusals.filter(({ message }) => !message.includes('not supported yet'));
  return {
    ...contract,
    unsupportedFields: () => [],
    backendRefusals: (backend) => judged(contract.backendRefusals(backend)),
    filesOf: (input) => {
      const files = contract.filesOf(input);
      return { ...files, refusals: judged(files.refusals) };
    },
  };
};

/**
 * Manifests, and kinds that only goldens know: `Settings`, `StatusReport` (name: the pod, label: the server), and
 * `EverythingBuilt`, with which also that is planned which no runtime could serve yet.
 */
export const planGolden = (input: string): readonly Planned[] => {
  const documents = parseAllDocuments(input).flatMap((document) => {
    for (const error of document.errors) throw error;
    return (document.toJS() as KubeObject | null) ?? [];
  });
  const settings = documents.find(({ kind }) => kind === 'Settings')?.['settings'] as Partial<Settings> | undefined;
  const objects = documents.filter(({ kind }) => !OF_GOLDENS.has(kind)).map(asStored);
  const reports = documents.filter(({ kind }) => kind === 'StatusReport');
  const source: Source = { ...objectsSource(objects), reports: ({ name }) => reportsOf(reports, name) };
  const whole = { source, namespaces: namespacesOf(objects) };
  const isBuilt = documents.some(({ kind }) => kind === 'EverythingBuilt');
  return planEverything(reconciledKinds(isBuilt ? everythingBuilt() : newContract()), whole, {
    ...DEFAULT_SETTINGS,
    ...settings,
  });
};

const OF_GOLDENS: ReadonlySet<string> = new Set(['Settings', 'StatusReport', 'EverythingBuilt']);

export const goldenText = (planned: readonly Planned[]): string =>
  joinDocuments(planned.flatMap(({ object, plan }) => planDocuments(object, plan)));

/** With defaults, as the API server stores it; what the operator reported earlier is kept. */
const asStored = (object: KubeObject): KubeObject => {
  const placed = { ...object, metadata: { namespace: 'default', ...object.metadata } };
  if (!object.apiVersion.startsWith(API_GROUP)) return placed;
  const parsed = parseResource(placed);
  if (!parsed.ok) throw new Error(`${object.kind} ${object.metadata.name}: ${JSON.stringify(parsed.problems)}`);
  return { ...parsed.value, ...(object['status'] !== undefined && { status: object['status'] }) };
};

const reportsOf = (reports: readonly KubeObject[], server: string): PodReports =>
  new Map(
    reports
      .filter(({ metadata }) => metadata.labels?.['server'] === server)
      .map((each) => [each.metadata.name, each['report'] as StatusReport | 'unreachable']),
  );
