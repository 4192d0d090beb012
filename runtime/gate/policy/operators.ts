import type { Evaluate } from './argument-uses.ts';
import { ARGUMENT, type Environment } from './environment.ts';
import { ANYTHING, asBoolean, EITHER, ERROR, FAILS, FALSE, isKnown, type Outcome, possible } from './outcome.ts';
import { surelyFails, TRUE } from './outcome.ts';
import {
  type EntityValue,
  holds,
  holdsOpaque,
  isEntity,
  isEqual,
  isRecord,
  isSet,
  OPAQUE,
  type Value,
} from './values.ts';

/** A member that may be absent, which is an error. */
export const member = (value: Value | undefined): Outcome => value ?? FAILS;

const swapped = (mask: number): number => (mask & ERROR) | (mask & TRUE ? FALSE : 0) | (mask & FALSE ? TRUE : 0);

export const not =
  (of: Evaluate): Evaluate =>
  (environment) =>
    possible(swapped(asBoolean(of(environment))));

/** The right side is evaluated only where the left one leaves the result open. */
export const and =
  (left: Evaluate, right: Evaluate): Evaluate =>
  (environment) => {
    const first = asBoolean(left(environment));
    if (!(first & TRUE)) return possible(first);
    return possible((first & ~TRUE) | asBoolean(right(environment)));
  };

export const or =
  (left: Evaluate, right: Evaluate): Evaluate =>
  (environment) => {
    const first = asBoolean(left(environment));
    if (!(first & FALSE)) return possible(first);
    return possible((first & ~FALSE) | asBoolean(right(environment)));
  };

export const ifThenElse =
  (condition: Evaluate, then: Evaluate, otherwise: Evaluate): Evaluate =>
  (environment) => {
    const which = asBoolean(condition(environment));
    if (which === TRUE) return then(environment);
    if (which === FALSE) return otherwise(environment);
    return which === ERROR ? FAILS : ANYTHING;
  };

/** Both sides are evaluated, the left one first; `apply` gets known values only. */
const strict =
  (apply: (left: Value, right: Value, environment: Environment) => Outcome) =>
  (left: Evaluate, right: Evaluate): Evaluate =>
  (environment) => {
    const first = left(environment);
    if (surelyFails(first)) return FAILS;
    const second = right(environment);
    if (surelyFails(second)) return FAILS;
    return isKnown(first) && isKnown(second) ? apply(first, second, environment) : ANYTHING;
  };

const equal = (left: Value, right: Value): Outcome => {
  if (isEntity(left) && isEntity(right)) return isSameEntity(left, right);
  if (isEntity(left) || isEntity(right)) return false;
  if (holdsOpaque(left) || holdsOpaque(right)) return ANYTHING;
  return isEqual(left, right);
};

const isSameEntity = (a: EntityValue, b: EntityValue): Outcome => {
  if (a.type !== b.type) return false;
  if (a.id !== undefined && b.id !== undefined) return a.id === b.id;
  return mayBe(a, b) && mayBe(b, a) ? EITHER : false;
};

/** Whether the first entity, whose id may be known by its beginning alone, may be the second. */
export const mayBe = ({ id, beginning = '' }: EntityValue, { id: other }: EntityValue): boolean =>
  id !== undefined ? other === undefined || other === id : other === undefined || other.startsWith(beginning);

const ofLongs = (apply: (left: number, right: number) => Outcome) =>
  strict((left, right) => (typeof left === 'number' && typeof right === 'number' ? apply(left, right) : FAILS));

/** Beyond the integers that a double holds, Cedar alone knows the result. */
const long = (result: number): Outcome => (Number.isSafeInteger(result) ? result + 0 : OPAQUE);

const ofSets = (apply: (left: readonly Value[], right: readonly Value[]) => boolean) =>
  strict((left, right) => {
    if (!isSet(left) || !isSet(right)) return FAILS;
    return holdsOpaque(left) || holdsOpaque(right) ? ANYTHING : apply(left.items, right.items);
  });

const includes = (items: readonly Value[], wanted: Value): boolean => holds({ kind: 'set', items }, wanted);

export const binary = {
  equal: strict(equal),
  less: ofLongs((left, right) => left < right),
  lessOrEqual: ofLongs((left, right) => left <= right),
  greater: ofLongs((left, right) => left > right),
  greaterOrEqual: ofLongs((left, right) => left >= right),
  plus: ofLongs((left, right) => long(left + right)),
  minus: ofLongs((left, right) => long(left - right)),
  times: ofLongs((left, right) => long(left * right)),
  contains: strict((left, right) => {
    if (!isSet(left)) return FAILS;
    return holdsOpaque(left) || (holdsOpaque(right) && !isEntity(right)) ? ANYTHING : anyEqual(left.items, right);
  }),
  containsAll: ofSets((left, right) => right.every((each) => includes(left, each))),
  containsAny: ofSets((left, right) => right.some((each) => includes(left, each))),
  isEmpty:
    (of: Evaluate): Evaluate =>
    (environment) => {
      const value = of(environment);
      if (!isKnown(value)) return surelyFails(value) ? FAILS : ANYTHING;
      return isSet(value) ? value.items.length === 0 : FAILS;
    },
} as const;

/** Entities whose ids are not known may be the wanted one. */
const anyEqual = (items: readonly Value[], wanted: Value): Outcome => {
  const each = items.map((item) => equal(item, wanted));
  if (each.includes(true)) return true;
  return each.every((one) => one === false) ? false : EITHER;
};

export const negation =
  (of: Evaluate): Evaluate =>
  (environment) => {
    const value = of(environment);
    if (!isKnown(value)) return surelyFails(value) ? FAILS : ANYTHING;
    return typeof value === 'number' ? long(-value) : FAILS;
  };

/** `in`: the right side is an entity or a set of entities. */
export const isIn = strict((left, right, { isBelow }) => {
  const others = isSet(right) ? right.items : [right];
  if (!isEntity(left) || !others.every(isEntity)) return others.some((each) => !isKnown(each)) ? ANYTHING : FAILS;
  const each = others.map((other) => isBelow(left, other));
  if (each.includes(true)) return true;
  return each.includes(undefined) ? EITHER : false;
});

export const isType =
  (of: Evaluate, type: string): Evaluate =>
  (environment) => {
    const value = of(environment);
    if (!isKnown(value)) return surelyFails(value) ? FAILS : ANYTHING;
    return isEntity(value) ? value.type === type : FAILS;
  };

const attribute = (of: Value, name: string, { attributesOf }: Environment): Outcome => {
  if (isRecord(of)) return member(of.members.get(name));
  if (!isEntity(of)) return FAILS;
  const attributes = attributesOf(of);
  return attributes === 'unknown' ? ANYTHING : member(attributes?.members.get(name));
};

const hasAttribute = (of: Value, name: string, { attributesOf }: Environment): Outcome => {
  if (isRecord(of)) return of.members.has(name);
  if (!isEntity(of)) return FAILS;
  const attributes = attributesOf(of);
  return attributes === 'unknown' ? EITHER : (attributes?.members.has(name) ?? false);
};

export const attributeOf =
  (of: Evaluate, name: string): Evaluate =>
  (environment) => {
    const value = of(environment);
    if (isKnown(value)) return attribute(value, name, environment);
    return surelyFails(value) ? FAILS : ANYTHING;
  };

/** `has` with several names reads as `e has a && e.a has b`. */
const hasPath = (of: Outcome, names: readonly string[], environment: Environment): Outcome => {
  let value = of;
  for (const [place, name] of names.entries()) {
    if (!isKnown(value)) return surelyFails(value) ? FAILS : ANYTHING;
    const is = hasAttribute(value, name, environment);
    if (is !== true) return is === EITHER && place < names.length - 1 ? ANYTHING : is;
    value = attribute(value, name, environment);
  }
  return true;
};

export const hasAttributes =
  (of: Evaluate, names: readonly string[]): Evaluate =>
  (environment) =>
    hasPath(of(environment), names, environment);

/** The same of the context. */
export const contextHas =
  ([first = '', ...rest]: readonly string[]): Evaluate =>
  (environment) => {
    const { claims, args } = environment;
    if (args === undefined && first.startsWith(ARGUMENT)) return rest.length === 0 ? EITHER : ANYTHING;
    const value = claims.get(first) ?? args?.get(first);
    return value === undefined ? false : hasPath(value, rest, environment);
  };

type PatternPart = 'Wildcard' | { readonly Literal: string };

export const like = (of: Evaluate, pattern: readonly PatternPart[]): Evaluate => {
  const parts = joinedLiterals(pattern);
  return (environment) => {
    const value = of(environment);
    if (!isKnown(value)) return surelyFails(value) ? FAILS : ANYTHING;
    return typeof value === 'string' ? matches(parts, value) : FAILS;
  };
};

/** The literal texts between wildcards. */
const joinedLiterals = (pattern: readonly PatternPart[]): readonly string[] => {
  const parts = [''];
  for (const part of pattern) {
    if (part === 'Wildcard') parts.push('');
    else parts.push((parts.pop() ?? '') + part.Literal);
  }
  return parts;
};

/** Each literal is found as early as possible, so that nothing is tried twice. */
const matches = (parts: readonly string[], text: string): boolean => {
  const [first = '', ...rest] = parts;
  if (rest.length === 0) return text === first;
  const last = rest.pop() ?? '';
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
};

export const setOf =
  (items: readonly Evaluate[]): Evaluate =>
  (environment) => {
    const values = items.map((item) => item(environment));
    if (values.some(surelyFails)) return FAILS;
    return values.every(isKnown) ? { kind: 'set', items: values } : ANYTHING;
  };

export const recordOf =
  (members: readonly (readonly [string, Evaluate])[]): Evaluate =>
  (environment) => {
    const values = members.map(([name, of]) => [name, of(environment)] as const);
    if (values.some(([, value]) => surelyFails(value))) return FAILS;
    const known = values.flatMap(([name, value]) => (isKnown(value) ? [[name, value] as const] : []));
    return known.length === values.length ? { kind: 'record', members: new Map(known) } : ANYTHING;
  };
