import * as z from 'zod';

/** A rule across the fields of one value: checked here for files, and by the API server through its CEL text. */
export interface Rule<T = unknown> {
  /** Over `self`; becomes an `x-kubernetes-validations` entry of the CRD. */
  readonly cel: string;
  /** What is wrong, e.g. `headerValue and headerValueEnv exclude each other`. */
  readonly reason: string;
  /**
   * What to do, e.g. `keep one of them`. Never to do without a guard: `test/remedies.test.ts` goes over all of them.
   */
  readonly remedy: string;
  /** Reason and remedy in one sentence. */
  readonly message: string;
  /** The key of `self` to point at; absent: `self`. */
  readonly field?: string;
  /**
   * Called with defaults applied. May throw when another field has the wrong type: that field's problem is reported
   * instead.
   */
  holds(value: T): boolean;
}

/** Makes a rule from its parts. */
export function rule<T>(parts: Omit<Rule<T>, 'message'>): Rule<T> {
  return { ...parts, message: `${parts.reason}; ${parts.remedy}` };
}

type Fields = Readonly<Record<string, unknown>>;

const registry = z.registry<{ readonly rules: readonly Rule[] }>();

/** The schema with rules attached: checked when it parses, and found again by `rulesOf`. */
export function withRules<S extends z.ZodType>(schema: S, ...rules: readonly Rule<z.output<S>>[]): S {
  if (rules.length === 0) return schema;
  let checked = schema;
  for (const each of rules) {
    checked = checked.refine((value) => holdsOrCannotTell(each, value), {
      error: each.message,
      params: { reason: each.reason, remedy: each.remedy },
      path: each.field === undefined ? [] : [each.field],
      when: hasItsType,
    });
  }
  registry.add(checked, { rules: [...rulesOf(schema), ...(rules as readonly Rule[])] });
  return checked;
}

/**
 * For `when` of a refinement: zod skips it once anything inside is wrong, but all problems must be reported together.
 */
export function hasItsType(payload: z.core.ParsePayload): boolean {
  return !payload.issues.some((issue) => issue.code === 'invalid_type' && (issue.path ?? []).length === 0);
}

/** The rules attached to this very schema (not to those inside it). */
export function rulesOf(schema: z.core.$ZodType): readonly Rule[] {
  return registry.get(schema)?.rules ?? [];
}

function holdsOrCannotTell<T>(each: Rule<T>, value: T): boolean {
  try {
    return each.holds(value);
  } catch {
    return true;
  }
}

const has = (value: Fields, key: string): boolean => value[key] !== undefined;
const count = (value: Fields, keys: readonly string[]): number => keys.filter((key) => has(value, key)).length;
const celCount = (keys: readonly string[]): string => keys.map((key) => `(has(self.${key}) ? 1 : 0)`).join(' + ');
const list = (keys: readonly string[], word: string): string =>
  keys.length < 2 ? (keys[0] ?? '') : `${keys.slice(0, -1).join(', ')} ${word} ${keys.at(-1) ?? ''}`;

/** Exactly one of the keys is present. */
export function exactlyOne(...keys: readonly string[]): Rule<Fields> {
  return rule({
    cel: `${celCount(keys)} == 1`,
    holds: (value) => count(value, keys) === 1,
    reason: `exactly one of ${list(keys, 'and')} must be set`,
    remedy: `set one of them and leave the rest out`,
  });
}

/** At most one of the keys is present. */
export function atMostOne(...keys: readonly string[]): Rule<Fields> {
  return rule({
    cel: `${celCount(keys)} <= 1`,
    holds: (value) => count(value, keys) <= 1,
    reason: `${list(keys, 'and')} exclude each other`,
    remedy: 'keep one of them',
  });
}

/** At least one of the keys is present; those of `lists` count only with an entry. */
export function atLeastOne(
  keys: readonly string[],
  { lists = [] }: { readonly lists?: readonly string[] } = {},
): Rule<Fields> {
  const all = [...keys, ...lists];
  return rule({
    cel: [
      ...keys.map((key) => `has(self.${key})`),
      ...lists.map((key) => `(has(self.${key}) && size(self.${key}) > 0)`),
    ].join(' || '),
    holds: (value) => count(value, keys) >= 1 || lists.some((key) => hasEntries(value[key])),
    reason: `at least one of ${list(all, 'and')} must be set`,
    remedy: `set ${list(all, 'or')}`,
  });
}

const hasEntries = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

/** The value of a required or defaulted key that decides about another key. */
export interface When {
  readonly key: string;
  readonly is: string;
}

/** A key that must be present when another has a value. */
export function requiredWhen(when: When, key: string): Rule<Fields> {
  return rule({
    cel: `self.${when.key} != '${when.is}' || has(self.${key})`,
    holds: (value) => value[when.key] !== when.is || has(value, key),
    reason: `${when.key} ${when.is} needs ${key}`,
    remedy: `set ${key}`,
  });
}

/** A key that is allowed only when another has a value. */
export function onlyWith(when: When, key: string): Rule<Fields> {
  return rule({
    cel: `!has(self.${key}) || self.${when.key} == '${when.is}'`,
    holds: (value) => !has(value, key) || !has(value, when.key) || value[when.key] === when.is,
    reason: `${key} is allowed only with ${when.key} ${when.is}`,
    remedy: `set ${when.key}: ${when.is}`,
    field: key,
  });
}

/** Both directions: a key is present if and only if another has a value. */
export function presentExactlyWhen(when: When, key: string): readonly Rule<Fields>[] {
  return [requiredWhen(when, key), onlyWith(when, key)];
}
