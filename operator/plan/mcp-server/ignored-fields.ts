import { hasOwnClients } from '../../../crds/index.ts';
import { type ProblemType, problem } from '../conditions.ts';
import type { PlannedCondition } from '../plan.ts';
import type { Reason } from '../reasons.ts';
import { type McpServerSpec, isBridged } from './spec.ts';

/** A field that nothing acts on, the way that this server is run. */
interface IgnoredField {
  readonly field: keyof McpServerSpec;
  readonly isIgnored: (spec: McpServerSpec) => boolean;
  readonly told: readonly [type: ProblemType, reason: Reason, message: string];
}

/** `test/operator/plan/no-field-is-silent.test.ts` finds those that are missing here. */
const IGNORED_FIELDS: readonly IgnoredField[] = [
  {
    field: 'sessionStorage',
    isIgnored: (spec) => !hasOwnClients(spec),
    told: [
      'SessionStorageIgnored',
      'NothingInFront',
      'the container keeps sessions as it does by itself; remove sessionStorage',
    ],
  },
  {
    field: 'externalAuthConfigRef',
    isIgnored: ({ groupRef }) => groupRef === undefined,
    told: [
      'ExternalAuthConfigIgnored',
      'NotInGroup',
      'it says how VirtualMCPServers authenticate to this server, and they find it by its group; set groupRef',
    ],
  },
  {
    field: 'mcpPort',
    isIgnored: isBridged,
    told: [
      'McpPortIgnored',
      'StandardInputOutput',
      'a server of transport stdio listens on no port; remove mcpPort, or set transport to how the server is spoken to',
    ],
  },
];

/** One condition for each field that is there and without effect. */
export const ignoredFields = (spec: McpServerSpec): readonly PlannedCondition[] =>
  IGNORED_FIELDS.filter(({ field, isIgnored }) => spec[field] !== undefined && isIgnored(spec)).map(({ told }) =>
    problem(...told),
  );
