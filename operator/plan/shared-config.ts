import { fieldsOf } from '../../crds/index.ts';
import type { KubeObject, ObjectKey } from '../object.ts';
import { authStorageIgnored } from './auth-storage.ts';
import { hashOf } from './canonical.ts';
import { stalled, warningsOf } from './conditions.ts';
import type { Contract } from './contract.ts';
import type { Plan } from './plan.ts';
import { type ResolvedReference, referenceConditions } from './references.ts';
import { validCondition, verdictOn } from './verdict.ts';

/** Configuration that others name, what it names itself, and who names it. */
export interface SharedConfigBundle {
  readonly config: KubeObject;
  readonly references: readonly ResolvedReference[];
  /** By kind, then name. */
  readonly users: readonly ObjectKey[];
}

/** `status.configHash`, and what a VirtualMCPServer says of the configuration it uses. */
export const configHash = ({ spec }: KubeObject): string => hashOf(spec, 16);

/**
 * MCPExternalAuthConfig, MCPOIDCConfig, MCPTelemetryConfig and MCPToolConfig. docs/decisions.md "Users of shared
 * configuration"
 */
export const planSharedConfig = (bundle: SharedConfigBundle, contract: Contract): Plan => {
  const { config, references, users } = bundle;
  const workloads = users.filter(({ kind }) => LISTED.has(kind));
  const verdict = verdictOn(bundle, contract);
  const { embeddedAuthServer } = fieldsOf(['MCPExternalAuthConfig'], config);
  const ignored = authStorageIgnored('spec.embeddedAuthServer', embeddedAuthServer);
  const conditions = [
    validCondition(verdict),
    ...referenceConditions(references),
    ...(ignored === undefined ? [] : [ignored]),
    ...stalled(verdict.stalledBy),
  ];
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

/** An MCPServerEntry blocks deletion and is not listed: docs/decisions.md "Users of shared configuration" */
const LISTED: ReadonlySet<string> = new Set(['MCPServer', 'MCPRemoteProxy', 'VirtualMCPServer']);
