import { stringify } from 'yaml';
import type { KubeObject } from '../object.ts';
import type { Planned } from '../kinds/plan-everything.ts';
import type { ConfigFiles, Plan } from '../plan/plan.ts';

/** A plan as YAML documents: the objects that would be applied, config files no ConfigMap holds, and the status. */
export const planDocuments = (object: KubeObject, plan: Plan): readonly string[] => [
  ...(plan.objects ?? []).map(yaml),
  ...configDocuments(plan),
  ...fileDocuments(plan.withheld, 'withheld '),
  ...statusDocument({ object, plan }),
];

/** The status of an object, without its spec. */
export const statusDocument = ({ object, plan }: Planned): readonly string[] =>
  plan.status === undefined ? [] : [yaml(statusOf(object, plan.status))];

/** Multi-line texts as they are, nothing folded. */
const yaml = (value: unknown): string => stringify(value, { lineWidth: 0, blockQuote: 'literal' });

const configDocuments = ({ objects, config }: Plan): readonly string[] =>
  objects?.some(({ kind }) => kind === 'ConfigMap') === true ? [] : fileDocuments(config, '');

const fileDocuments = (files: ConfigFiles | undefined, adjective: string): readonly string[] =>
  Object.entries(files ?? {}).map(([name, text]) => `# ${adjective}${name}\n${text}`);

const statusOf = ({ apiVersion, kind, metadata }: KubeObject, status: unknown): unknown => ({
  apiVersion,
  kind,
  metadata: { name: metadata.name, namespace: metadata.namespace },
  status,
});

/** One text that `kubectl` and people read as several documents. */
export const joinDocuments = (documents: readonly string[]): string =>
  documents.map((document) => `---\n${document}`).join('');
