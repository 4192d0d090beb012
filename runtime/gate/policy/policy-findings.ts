import type { Config, Finding } from '../../config/index.ts';
import { compilePolicy, type CompiledPolicy } from './compile-policy.ts';
import { lruCache } from '../../process/index.ts';
import { CedarFailure } from './engine.ts';
import { parseEntities, type WrittenEntities } from './entities.ts';
import { parsePolicies, type PolicyProblem } from './parse-policies.ts';

/** Policies with their entities, wherever they are written. */
export interface WrittenPolicies {
  readonly policies: readonly string[];
  readonly entitiesJson?: string | undefined;
}

/** Problems by the text of policies and entities: the operator asks about the same ones at every look at a server. */
const known = lruCache<readonly PolicyProblem[]>({ count: 256, bytes: 4 * 1024 * 1024 });

/** What keeps policies from being used; nothing where they can be. Never throws. */
export const policyProblems = ({ policies, entitiesJson = '[]' }: WrittenPolicies): readonly PolicyProblem[] => {
  const key = JSON.stringify([policies, entitiesJson]);
  const before = known.get(key);
  if (before) return before;
  const found = problemsOf({ policies, entitiesJson });
  known.set(key, found, 2 * key.length);
  return found;
};

const problemsOf = ({ policies, entitiesJson }: Required<WrittenPolicies>): readonly PolicyProblem[] => {
  try {
    return [...parsePolicies(policies).problems, ...parseEntities(entitiesJson ?? '[]').problems];
  } catch (error) {
    if (error instanceof CedarFailure) return [UNREADABLE];
    throw error;
  }
};

const UNREADABLE: PolicyProblem = {
  path: ['policies'],
  reason: 'Cedar cannot read them',
  remedy: 'make the policies smaller and less nested',
};

/** The same of a configuration file, as written. */
export const policyFindings = (file: unknown): readonly Finding[] => {
  const authz = member(member(file, 'incomingAuth'), 'authz');
  const [policies, entitiesJson] = [member(authz, 'policies'), member(authz, 'entitiesJson')];
  // Anything else is for the schema to tell.
  if (!isTexts(policies) || (entitiesJson !== undefined && typeof entitiesJson !== 'string')) return [];
  return policyProblems({ policies, entitiesJson }).map(({ path, ...told }) => ({
    path: ['incomingAuth', 'authz', ...path],
    ...told,
  }));
};

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');

/** Warnings about policies of a valid configuration. */
export const policyWarnings = ({
  incomingAuth: { type, authz },
  extensions,
}: Pick<Config, 'incomingAuth' | 'extensions'>): readonly string[] => {
  if (authz === undefined || authz.type === 'none') return [];
  if (type === 'anonymous')
    return ['incomingAuth.authz: not evaluated, since incomingAuth.type anonymous disables all access control'];
  const { policies = [], entitiesJson } = authz;
  const hasFurtherIssuers = extensions.issuers.length > 0;
  return questionable({ policies, entitiesJson, hasFurtherIssuers }).map(({ path, reason, remedy }) => {
    const place = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');
    return `incomingAuth.authz${place}: ${reason}; ${remedy}`;
  });
};

export interface QuestionedPolicies extends WrittenPolicies {
  /** Tokens of several issuers are taken. */
  readonly hasFurtherIssuers?: boolean;
}

/**
 * What valid policies say and probably do not mean: names that are not in the entity model (docs/policies.md
 * "Entities"), attributes that may be absent. Nothing for policies that have problems.
 */
export const questionable = ({
  policies: texts,
  entitiesJson = '[]',
  hasFurtherIssuers = false,
}: QuestionedPolicies): readonly PolicyProblem[] => {
  if (policyProblems({ policies: texts, entitiesJson }).length > 0) return [];
  const { entities } = parseEntities(entitiesJson);
  const policies = parsePolicies(texts).policies.map(compilePolicy);
  const found = policies.flatMap((policy, index) =>
    [...doubtsAbout(policy, entities), ...(hasFurtherIssuers ? doubtsAboutIssuer(policy) : [])].map((doubt) => ({
      path: ['policies', index],
      ...doubt,
    })),
  );
  const isAnyPermitted = policies.some(({ effect, isDryRun }) => effect === 'permit' && !isDryRun);
  return isAnyPermitted ? found : [...found, NOTHING_PERMITTED];
};

const NOTHING_PERMITTED: PolicyProblem = {
  path: ['policies'],
  reason: 'no policy permits anything, so that everything is denied',
  remedy: 'add a policy that permits',
};

type Doubt = Omit<PolicyProblem, 'path'>;

/** Claims that every user has (`User.claims`). */
const ALWAYS_THERE: ReadonlySet<string> = new Set(['claim_iss', 'claim_sub']);

const ACTIONS: ReadonlySet<string> = new Set(['call_tool', 'get_prompt', 'read_resource']);
const TYPES: readonly string[] = ['Action', 'Client', 'Tool', 'Prompt', 'Resource', 'Backend', 'MCP'];

function* doubts({ reads }: CompiledPolicy, written: WrittenEntities): Generator<Doubt> {
  const own = [...written.values()].flatMap(({ uid, parents }) => [uid, ...parents]);
  const types = new Set([...TYPES, ...own.map(({ type }) => type)]);
  for (const type of new Set([...reads.types, ...[...reads.entities.values()].map((each) => each.type)]))
    if (!types.has(type))
      yield { reason: `there are no entities of type ${type}`, remedy: `use one of ${TYPES.join(', ')}` };
  for (const { type, id } of reads.entities.values())
    if (type === 'Action' && !ACTIONS.has(id) && !own.some((each) => each.type === type && each.id === id))
      yield { reason: `there is no Action::${JSON.stringify(id)}`, remedy: `use one of ${[...ACTIONS].join(', ')}` };
  for (const name of reads.strange)
    yield { reason: `the context has no ${name}`, remedy: 'read claims as claim_<name>, arguments as arg_<name>' };
  for (const name of [...reads.claims, ...reads.args.keys()])
    if (!reads.tested.has(name) && !ALWAYS_THERE.has(name))
      yield {
        reason: `reads ${name}, and where it is absent denies the call`,
        remedy: `test for it first: … has ${name} && …`,
      };
}

/** A subject alone tells nobody where there are several issuers (OpenID Connect Core §2: unique within one). */
const doubtsAboutIssuer = ({ effect, reads }: CompiledPolicy): readonly Doubt[] =>
  effect === 'permit' && reads.claims.has('claim_sub') && !reads.claims.has('claim_iss') ? [SUBJECT_ALONE] : [];

const SUBJECT_ALONE: Doubt = {
  reason: 'reads claim_sub and not claim_iss, and each of the issuers may have a user of this subject',
  remedy: 'compare claim_iss, too, or name the principal: Client::"<issuer> <subject>" for further issuers',
};

const doubtsAbout = (policy: CompiledPolicy, written: WrittenEntities): readonly Doubt[] => [
  ...doubts(policy, written),
];
