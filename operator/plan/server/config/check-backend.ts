import { statusIn } from '../../../../crds/index.ts';
import type { KubeObject } from '../../../object.ts';
import { type Violation, violationText } from '../../../validate/index.ts';
import { conditionsIn } from '../../conditions.ts';
import type { Contract, Refusal } from '../../contract.ts';
import type { PlannedCondition } from '../../plan.ts';
import type { BackendConfigEntry } from '../../server-spec.ts';
import type { AuthProblem, BackendAuth } from './named-auth.ts';

/** Why a backend is not contacted. */
export interface Withheld {
  readonly reason:
    | 'NameTaken'
    | 'ServiceTaken'
    | 'ServesWithoutAuth'
    | 'NeedsCluster'
    | Refusal['reason']
    | AuthProblem['reason'];
  readonly message: string;
}

/** What is checked of any backend before it is contacted. */
export interface CheckedBackend {
  /** Names it in messages. */
  readonly label: string;
  readonly entry: BackendConfigEntry | undefined;
  readonly auth: BackendAuth | undefined;
  /** Without `auth`: the strategy of `config.outgoingAuth`. */
  readonly typeInConfig?: string | undefined;
  readonly contract: Contract;
}

/** Why a backend of any kind is not contacted; undefined where nothing forbids it. */
export const whyNotContacted = (checked: CheckedBackend): Withheld | undefined =>
  authUnusable(checked) ?? refused(checked);

/**
 * docs/decisions.md "Outgoing authentication": a missing MCPExternalAuthConfig makes this backend unavailable, and no
 * other.
 */
export function authUnusable({ label, auth }: Pick<CheckedBackend, 'label' | 'auth'>): Withheld | undefined {
  if (auth?.problem === undefined) return undefined;
  const { reason, message } = auth.problem;
  return { reason, message: `${label}: ${message}` };
}

/**
 * docs/decisions.md "Names of children": of MCPServers `a` and `a-backend` the container of the one would have the
 * Service name of the other. Calls and credentials must not reach the other one.
 */
export const serviceTaken = (
  label: string,
  name: string,
  foreignServices: readonly KubeObject[],
): Withheld | undefined => {
  const foreign = foreignServices.find(({ metadata }) => metadata.name === name);
  if (foreign === undefined) return undefined;
  const owner = foreign.metadata.ownerReferences?.find(({ controller }) => controller === true);
  const whose = owner === undefined ? 'is not its own' : `belongs to ${owner.kind} ${owner.name}`;
  const message = `${label}: Service ${name}, which would lead to its pods, ${whose}; give one of them another name`;
  return { reason: 'ServiceTaken', message };
};

/** Foreign Services are not in the cache. The member's own status reports one: `ChildConflict`, and no `url`. */
export const serviceTakenPerStatus = (label: string, member: KubeObject): Withheld | undefined => {
  const conflict = trueCondition(member, 'ChildConflict');
  const { url } = statusIn('MCPServer', member);
  return conflict === undefined || url !== undefined
    ? undefined
    : { reason: 'ServiceTaken', message: `${label}: ${conflict.message}` };
};

/** The condition, where it is `True`. */
const trueCondition = (member: KubeObject | undefined, type: string): PlannedCondition | undefined =>
  conditionsIn(member?.['status']).find((each) => each.type === type && each.status === 'True');

/** What the runtime would refuse. */
export function refused({ label, entry, auth, contract }: CheckedBackend): Withheld | undefined {
  if (entry === undefined) return undefined;
  return withheldFor(label, contract.backendRefusals({ entry, strategy: auth?.strategy }));
}

/** A broken rule in the words of a refusal. */
export const refusalOf = (violation: Violation): Refusal => ({
  reason: violation.conditionReason === 'UnknownField' ? violation.conditionReason : 'Invalid',
  message: violationText(violation),
});

/** Why a backend is withheld: the reason of the first refusal, the messages of all. Undefined without refusals. */
export const withheldFor = (label: string, refusals: readonly Refusal[]): Withheld | undefined => {
  const [first] = refusals;
  if (first === undefined) return undefined;
  const message = refusals.map((each) => each.message).join('; ');
  return { reason: first.reason, message: `${label}: ${message}` };
};

/** The credentials are meant for the runtime that its spec asks for; its container would get them. */
export function servesWithoutAuth(
  { label, entry, auth, typeInConfig }: CheckedBackend,
  member: KubeObject | undefined,
): Withheld | undefined {
  const { type = typeInConfig ?? NO_CREDENTIAL } = auth?.strategy ?? {};
  const isSent = entry?.headerForward !== undefined || type !== NO_CREDENTIAL;
  if (!isSent || trueCondition(member, SERVES_WITHOUT_AUTH) === undefined) return undefined;
  const message = `${label}: it runs without the runtime in front that takes its credentials; see its condition ${SERVES_WITHOUT_AUTH}`;
  return { reason: SERVES_WITHOUT_AUTH, message };
}

const SERVES_WITHOUT_AUTH = 'ServesWithoutAuth';

const NO_CREDENTIAL = 'unauthenticated';
