import { statusIn } from '../../../../crds/index.ts';
import type { KubeObject } from '../../../object.ts';
import { type Violation, violationText } from '../../../validate/index.ts';
import { conditionsIn } from '../../conditions.ts';
import type { Contract, Refusal } from '../../contract.ts';
import type { PlannedCondition } from '../../plan.ts';
import type { BackendConfigEntry } from '../../server-spec.ts';
import type { AuthProblem, BackendAuth } from './backend-auth.ts';

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

/** What any backend is looked at for. */
export interface Judged {
  /** Names it in messages. */
  readonly label: string;
  readonly entry: BackendConfigEntry | undefined;
  readonly auth: BackendAuth | undefined;
  /** Without `auth`: the strategy of `config.outgoingAuth`. */
  readonly typeInConfig?: string | undefined;
  readonly contract: Contract;
}

/** What speaks against contacting a backend, whoever it is. */
export const whyNotContacted = (judged: Judged): Withheld | undefined => authUnusable(judged) ?? refused(judged);

/**
 * docs/decisions.md "Outgoing authentication": a missing MCPExternalAuthConfig makes this backend unavailable, and no
 * other.
 */
export function authUnusable({ label, auth }: Pick<Judged, 'label' | 'auth'>): Withheld | undefined {
  if (auth?.problem === undefined) return undefined;
  const { reason, message } = auth.problem;
  return { reason, message: `${label}: ${message}` };
}

/**
 * docs/decisions.md "Names of children": of MCPServers `a` and `a-backend` the container of the one would be called as
 * the other. Calls and credentials are not for whoever came first.
 */
export const serviceTaken = (label: string, name: string, strangers: readonly KubeObject[]): Withheld | undefined => {
  const stranger = strangers.find(({ metadata }) => metadata.name === name);
  if (stranger === undefined) return undefined;
  const owner = stranger.metadata.ownerReferences?.find(({ controller }) => controller === true);
  const whose = owner === undefined ? 'is not its own' : `belongs to ${owner.kind} ${owner.name}`;
  const message = `${label}: Service ${name}, which would lead to its pods, ${whose}; give one of them another name`;
  return { reason: 'ServiceTaken', message };
};

/**
 * A Service of somebody else is not in the cache. The member's own status tells of it: `ChildConflict`, and no `url`.
 */
export const saidToBeTaken = (label: string, member: KubeObject): Withheld | undefined => {
  const conflict = toldOf(member, 'ChildConflict');
  const { url } = statusIn('MCPServer', member);
  return conflict === undefined || url !== undefined
    ? undefined
    : { reason: 'ServiceTaken', message: `${label}: ${conflict.message}` };
};

/** The condition, where it is `True`. */
const toldOf = (member: KubeObject | undefined, type: string): PlannedCondition | undefined =>
  conditionsIn(member?.['status']).find((each) => each.type === type && each.status === 'True');

/** What the runtime would refuse. */
export function refused({ label, entry, auth, contract }: Judged): Withheld | undefined {
  if (entry === undefined) return undefined;
  return withheldFor(label, contract.backendRefusals({ entry, strategy: auth?.strategy }));
}

/** A broken rule in the words of a refusal. */
export const refusalOf = (violation: Violation): Refusal => ({
  reason: violation.word === 'UnknownField' ? violation.word : 'Invalid',
  message: violationText(violation),
});

export const withheldFor = (label: string, refusals: readonly Refusal[]): Withheld | undefined => {
  const [first] = refusals;
  if (first === undefined) return undefined;
  const message = refusals.map((each) => each.message).join('; ');
  return { reason: first.reason, message: `${label}: ${message}` };
};

/** What it would be sent is meant for the runtime that its spec asks for, and its container would get it. */
export function servesWithoutAuth(
  { label, entry, auth, typeInConfig }: Judged,
  member: KubeObject | undefined,
): Withheld | undefined {
  const { type = typeInConfig ?? NO_CREDENTIAL } = auth?.strategy ?? {};
  const isSent = entry?.headerForward !== undefined || type !== NO_CREDENTIAL;
  if (!isSent || toldOf(member, SERVES_WITHOUT_AUTH) === undefined) return undefined;
  const message = `${label}: it runs without the runtime in front that takes its credentials; see its condition ${SERVES_WITHOUT_AUTH}`;
  return { reason: SERVES_WITHOUT_AUTH, message };
}

const SERVES_WITHOUT_AUTH = 'ServesWithoutAuth';

const NO_CREDENTIAL = 'unauthenticated';
