import type { KubeObject, ObjectKey } from '../object.ts';
import { violationText, violationsOf } from '../validate/index.ts';
import { hashOf } from './canonical.ts';
import { fact, warningsOf } from './conditions.ts';
import type { Contract } from './contract.ts';
import type { Plan, PlannedCondition } from './plan.ts';
import { type ResolvedReference, lookUpIn, referenceConditions } from './references.ts';

/** Configuration that others name, what it names itself, and who names it. */
export interface SharedConfigBundle {
  readonly config: KubeObject;
  readonly references: readonly ResolvedReference[];
  /** By kind, then name. */
  readonly users: readonly ObjectKey[];
}

/** spec: status.configHash, and what a VirtualMCPServer says of the configuration it uses. */
export const configHash = ({ spec }: KubeObject): string => hashOf(spec, 16);

/** MCPExternalAuthConfig, MCPOIDCConfig, MCPTelemetryConfig and MCPToolConfig. spec: MCPExternalAuthConfig, status */
export const planSharedConfig = (bundle: SharedConfigBundle, contract: Contract): Plan => {
  const { config, references, users } = bundle;
  const workloads = users.filter(({ kind }) => LISTED.has(kind));
  const conditions = [validCondition(verdictOn(bundle, contract)), ...referenceConditions(references)];
  return {
    status: {
      ...(config.metadata.generation !== undefined && { observedGeneration: config.metadata.generation }),
      configHash: configHash(config),
      referenceCount: workloads.length,
      referencingWorkloads: workloads.map(({ kind, name }) => ({ kind, name })),
      conditions,
    },
    events: warningsOf(conditions),
  };
};

/** Decisions: an MCPServerEntry blocks deletion and is not listed, for the list has no word for it (spec: its `kind`). */
const LISTED: ReadonlySet<string> = new Set(['MCPServer', 'MCPRemoteProxy', 'VirtualMCPServer']);

/** What speaks against using a configuration; nothing when there are no complaints. */
export interface Verdict {
  /** Reason of the condition. */
  readonly word: string;
  readonly complaints: readonly string[];
}

export const verdictOn = (
  { config, references }: Pick<SharedConfigBundle, 'config' | 'references'>,
  contract: Contract,
  /** What of the spec has to be supported for that. */
  asked: unknown = config['spec'],
): Verdict => {
  const unsupported = contract.unsupportedFields(config.kind, asked);
  if (unsupported.length > 0) {
    return { word: 'NotSupportedYet', complaints: unsupported.map(({ message }) => message) };
  }
  const wrong = violationsOf(config, lookUpIn(references));
  return { word: wrong[0]?.word ?? 'Valid', complaints: wrong.map(violationText) };
};

export const validCondition = (
  { word, complaints }: Verdict,
  goodNews = 'whoever refers to it can use it',
): PlannedCondition =>
  complaints.length === 0 ? fact('Valid', true, word, goodNews) : fact('Valid', false, word, complaints.join('; '));
