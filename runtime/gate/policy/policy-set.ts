import type { PolicyDecision } from '../../call/index.ts';
import { type CompiledPolicy, compilePolicy } from './compile-policy.ts';
import { CedarDecisions, type CedarDecisionsDeps } from './cedar-decisions.ts';
import { environmentOf, type Principal, requestOf, type World } from './decision-request.ts';
import { parseEntities, type WrittenEntities } from './entities.ts';
import { readsTogether, type Reads } from './argument-uses.ts';
import { mayBeAdmitted } from './may-be-admitted.ts';
import { parsePolicies, type PolicyProblem } from './parse-policies.ts';
import { canRead, NOTHING_READ, type ReadValues } from './read-values.ts';
import { type Slice, slicesOf } from './slices.ts';
import type { Subject } from './subject.ts';
import type { Represented } from './values.ts';

/** Policies as the configuration has them. */
export interface PolicySettings {
  readonly policies: readonly string[];
  readonly entitiesJson: string;
  /** Name of the server, which is an entity, too. */
  readonly server: string;
}

/** What a decision is about, with the policies that may apply. */
export interface Matter {
  readonly subject: Subject;
  readonly slice: Slice;
}

/** Policies that can decide. */
export interface PolicySet {
  /** What all policies read together. */
  readonly reads: Reads;
  /** Whether decisions depend on who the principal is, beside its claims. */
  readonly dependsOnIdentity: boolean;
  readonly matterOf: (subject: Subject) => Matter;
  /** Whether a call with some arguments is admitted. */
  readonly mayBeAdmitted: (who: Principal, matter: Matter) => boolean;
  /** Decides a call with these arguments; where those are not meant, whether there are any that are admitted. */
  readonly decide: (who: Principal, matter: Matter, args: ReadValues) => PolicyDecision;
  /** After this, nothing is admitted that Cedar would have to decide. */
  readonly close: () => void;
}

/** The policies cannot be used; `problems` says why. */
export class InvalidPoliciesError extends Error {
  override readonly name = 'InvalidPoliciesError';
  readonly problems: readonly PolicyProblem[];

  constructor(problems: readonly PolicyProblem[]) {
    super(problems.map(({ path, reason, remedy }) => `${path.join('.')}: ${reason}; ${remedy}`).join('; '));
    this.problems = problems;
  }
}

/** Throws InvalidPoliciesError. */
export const openPolicySet = (settings: PolicySettings, deps: CedarDecisionsDeps): PolicySet => {
  const { policies: parsed, problems } = parsePolicies(settings.policies);
  const { entities: written, problems: more } = parseEntities(settings.entitiesJson);
  if (problems.length + more.length > 0) throw new InvalidPoliciesError([...problems, ...more]);
  const policies = parsed.map(compilePolicy);
  const world: World = { server: settings.server, written };
  const decides = new CedarDecisions(parsed, deps);
  const sliceOf = slicesOf(policies);
  const isAdmitted = (who: Principal, { subject, slice }: Matter): boolean => {
    const { reads } = slice;
    if (!canRead(reads, [who.claims])) return false;
    const ask = (known: ReadonlyMap<string, Represented>): boolean => {
      const args = asRead(known);
      return decides.enforced(slice, (sent) => requestOf(who, subject, { args, reads: sent, world })).isAllowed;
    };
    return mayBeAdmitted({
      slice,
      environment: environmentOf(who, subject, world),
      hasArguments: subject.hasArguments,
      ask: subject.entity.id === undefined ? undefined : ask,
    });
  };
  return {
    reads: readsTogether(policies.map(({ reads }) => reads)),
    dependsOnIdentity: policies.some(({ reads }) => reads.identity) || hasClients(written),
    matterOf: (subject) => ({ subject, slice: sliceOf(environmentOf(NOBODY, subject, world)(undefined)) }),
    mayBeAdmitted: isAdmitted,
    decide: (who, matter, args) => {
      if (matter.subject.isCall) return decideCall({ decides, world }, matter, { who, args });
      const isAllowed = isAdmitted(who, matter);
      return { ...NONE, isAllowed, policies: isAllowed ? permitsOf(matter) : [] };
    },
    close: () => decides.close(),
  };
};

/** Of a call whose arguments are not known, every policy that may permit it. */
const permitsOf = ({ slice }: Matter): readonly string[] =>
  slice.enforced.filter(({ effect }) => effect === 'permit').map(({ id }) => id);

const NOBODY: Principal = { entity: { kind: 'entity', type: 'Client', id: '' }, claims: NOTHING_READ };

const asRead = (known: ReadonlyMap<string, Represented>): ReadValues => ({ known, failed: new Map() });

const hasClients = (written: WrittenEntities): boolean =>
  [...written.values()].some(({ uid }) => uid.type === 'Client');

const NONE: PolicyDecision = { isAllowed: false, policies: [], failed: [], dryRun: [] };

const decideCall = (
  { decides, world }: { readonly decides: CedarDecisions; readonly world: World },
  { subject, slice }: Matter,
  { who, args }: { readonly who: Principal; readonly args: ReadValues },
): PolicyDecision => {
  const values = [who.claims, args];
  const requestWith = (reads: Reads) => requestOf(who, subject, { args, reads, world });
  const unreadable = (policies: readonly CompiledPolicy[]): readonly string[] =>
    policies.filter(({ reads }) => !canRead(reads, values)).map(({ id }) => id);
  const failed = unreadable(slice.enforced);
  const decision = failed.length > 0 ? { ...NONE, failed } : decides.enforced(slice, requestWith);
  if (slice.dryRun.length === 0) return decision;
  return { ...decision, dryRun: decides.dryRun(decision, requestWith(slice.allReads), unreadable(slice.dryRun)) };
};
