import {
  type Budget,
  compileCondition,
  newBudget,
  type Variables,
  variablesOf,
  type Verdict,
} from '../../cel/index.ts';

/** Which role a user takes; `undecided`: a mapping that might have applied could not be evaluated. */
export type RoleChoice =
  | { readonly kind: 'role'; readonly roleArn: string }
  | { readonly kind: 'none' }
  | { readonly kind: 'undecided'; readonly detail: string };

export interface RoleMapping {
  readonly roleArn: string;
  readonly claim?: string | undefined;
  readonly matcher?: string | undefined;
  readonly priority?: number | undefined;
}

export interface RoleSettings {
  readonly roleClaim: string;
  readonly roleMappings?: readonly RoleMapping[] | undefined;
  readonly fallbackRoleArn?: string | undefined;
}

type Claims = Readonly<Record<string, unknown>>;

/** Called at most once for each set of claims. */
type ReadVariables = () => Variables | undefined;

/** What matchers look into, and what all matchers of one choice may spend together. */
interface Looking {
  readonly read: ReadVariables;
  readonly budget: Budget;
}

interface Mapping {
  readonly roleArn: string;
  /** Place in the configuration. */
  readonly index: number;
  readonly priority: number;
  readonly evaluate: (claims: Claims, looking: Looking) => Verdict;
}

/**
 * Chooses by the first mapping that applies: by ascending `priority`, those without one last, ties in the order of the
 * configuration. What is not there does not match; a mapping that fails otherwise, or takes too long, ends the choice,
 * as a role of a later mapping or the fallback might be worth more than the one that was meant. Throws for a matcher
 * that is no condition.
 */
export const roleChoiceBy = (settings: RoleSettings): ((claims: Claims) => RoleChoice) => {
  const mappings = (settings.roleMappings ?? [])
    .map((each, index) => mappingOf(each, index, settings.roleClaim))
    .toSorted((a, b) => a.priority - b.priority || a.index - b.index);
  return (claims) => {
    let variables: { readonly read: Variables | undefined } | undefined;
    const read: ReadVariables = () => (variables ??= { read: variablesOf({ claims }) }).read;
    const looking = { read, budget: newBudget() };
    for (const { roleArn, index, evaluate } of mappings) {
      const verdict = evaluate(claims, looking);
      if (verdict === 'true') return { kind: 'role', roleArn };
      if (verdict === 'failed' || verdict === 'exhausted')
        return { kind: 'undecided', detail: `roleMappings[${index}]: ${verdict}` };
    }
    const { fallbackRoleArn } = settings;
    return fallbackRoleArn === undefined ? { kind: 'none' } : { kind: 'role', roleArn: fallbackRoleArn };
  };
};

/** Infinity minus itself is no number. */
const LAST = Number.MAX_SAFE_INTEGER;

const mappingOf = (mapping: RoleMapping, index: number, roleClaim: string): Mapping => {
  const { roleArn, claim, matcher, priority = LAST } = mapping;
  if (claim !== undefined)
    return { roleArn, index, priority, evaluate: (claims) => hasValue(claims, roleClaim, claim) };
  const compiled = compileCondition(matcher ?? '', ['claims']);
  if (!compiled.ok) throw new Error(`roleMappings[${index}].matcher: ${compiled.reason}`);
  const { condition } = compiled;
  const evaluate: Mapping['evaluate'] = (_claims, { read, budget }) => {
    const variables = read();
    return variables ? condition.evaluate(variables, budget) : 'exhausted';
  };
  return { roleArn, index, priority, evaluate };
};

/**
 * `value in claims[name]` for a list. Some providers write a list of one as that one, in which CEL's `in` would not
 * look; and in an object it would look for a key.
 */
const hasValue = (claims: Claims, name: string, value: string): Verdict => {
  const found = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (found === undefined || found === null) return 'absent';
  if (typeof found !== 'string' && !Array.isArray(found)) return 'failed';
  const values: readonly unknown[] = typeof found === 'string' ? [found] : found;
  return values.includes(value) ? 'true' : 'false';
};
