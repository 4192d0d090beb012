import type { ArgumentUse, Reads } from './argument-uses.ts';
import type { Environment } from './environment.ts';
import { isKnown, surelyFails } from './outcome.ts';
import { keyOf } from './represent.ts';
import type { Represented, Value } from './values.ts';

/** Values of one argument, of which policies may think differently. */
export interface Candidates {
  readonly name: string;
  /** Undefined: the argument is absent. */
  readonly values: readonly (Represented | undefined)[];
  /** Whether policies decide about every other value as about one of these. */
  readonly isComplete: boolean;
}

/** A text that is in no policy. */
const FRESH = '\u{1}vmcp';

/**
 * For each argument that policies read, the values at which their decision may change: absent, each constant that it is
 * compared with, integers next to it, and a value equal to none.
 */
export const candidatesOf = ({ args }: Reads, environment: Environment): readonly Candidates[] =>
  [...args].map(([name, uses]) => {
    const values = new Map<string, Represented | undefined>([['', undefined]]);
    const add = (value: Value): void => {
      const represented = asArgument(value);
      if (represented) values.set(keyOf(represented.json), represented);
    };
    add(FRESH);
    const isComplete = uses.map((use) => addFor(use, environment, add)).every(Boolean);
    return { name, values: [...values.values()], isComplete };
  });

/** Returns whether the added values stand for all others. */
const addFor = (use: ArgumentUse, environment: Environment, add: (value: Value) => void): boolean => {
  switch (use.kind) {
    case 'presence':
    case 'never':
      return true;
    case 'boolean':
      add(true);
      add(false);
      return true;
    case 'other':
      return false;
    case 'pattern':
      for (const example of use.examples) add(example);
      return false;
    default:
      return addNear(use, environment, add);
  }
};

const addNear = (
  use: Extract<ArgumentUse, { readonly other: unknown }>,
  environment: Environment,
  add: (value: Value) => void,
): boolean => {
  const other = use.other(environment);
  if (!isKnown(other)) return surelyFails(other);
  if (use.kind === 'element') {
    add({ kind: 'set', items: [other] });
    add({ kind: 'set', items: [] });
    return false;
  }
  const constants = use.kind === 'member' && typeof other === 'object' && other.kind === 'set' ? other.items : [other];
  for (const constant of constants) for (const near of nearTo(constant)) add(near);
  return constants.every((constant) => isExact(constant));
};

const nearTo = (constant: Value): readonly Value[] =>
  typeof constant === 'number' ? [constant - 1, constant, constant + 1].filter(Number.isSafeInteger) : [constant];

const isExact = (value: Value): boolean => typeof value !== 'object' || value.kind !== 'opaque';

/** The value as an argument may have it; undefined for what no JSON becomes, such as an entity. */
const asArgument = (value: Value): Represented | undefined => {
  if (typeof value !== 'object') return { value, json: value };
  if (value.kind === 'set') {
    const items = value.items.map(asArgument);
    const known = items.filter((each) => each !== undefined);
    return known.length === items.length ? { value, json: known.map(({ json }) => json) } : undefined;
  }
  if (value.kind !== 'record') return undefined;
  const members = [...value.members].map(([name, each]) => [name, asArgument(each)?.json] as const);
  return members.some(([, json]) => json === undefined) ? undefined : { value, json: Object.fromEntries(members) };
};

/** Every combination of candidates, at most `most` of them; `isWhole` tells whether these were all. */
export const combinations = (
  all: readonly Candidates[],
  most: number,
): { readonly each: () => Generator<ReadonlyMap<string, Represented>>; readonly isWhole: boolean } => {
  const total = all.reduce((product, { values }) => product * values.length, 1);
  const count = Math.min(total, most);
  function* each(): Generator<ReadonlyMap<string, Represented>> {
    for (let index = 0; index < count; index += 1) {
      let rest = index;
      const chosen = new Map<string, Represented>();
      for (const { name, values } of all) {
        const value = values[rest % values.length];
        rest = Math.floor(rest / values.length);
        if (value) chosen.set(name, value);
      }
      yield chosen;
    }
  }
  return { each, isWhole: total <= most };
};
