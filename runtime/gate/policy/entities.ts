import { withCedar } from './engine.ts';
import { CLAIM } from './environment.ts';
import type { PolicyProblem } from './parse-policies.ts';
import { MAX_POLICIES_LENGTH } from './policy-text.ts';
import { valueOfJson } from './represent.ts';
import type { RecordValue } from './values.ts';

/** An entity's type and id. */
export interface Uid {
  readonly type: string;
  readonly id: string;
}

/** An entity as `entitiesJson` has it. */
export interface WrittenEntity {
  readonly uid: Uid;
  readonly attrs: Readonly<Record<string, unknown>>;
  readonly parents: readonly Uid[];
  readonly tags?: Readonly<Record<string, unknown>>;
  /** `attrs` for the evaluation of conditions. */
  readonly attributes: RecordValue;
}

/** The entities of `entitiesJson`, by `uidKey`. */
export type WrittenEntities = ReadonlyMap<string, WrittenEntity>;

export const uidKey = ({ type, id }: Uid): string => `${type}::${JSON.stringify(id)}`;

/** Types of entities that the runtime itself makes, with the parents they have. */
const SERVED: ReadonlySet<string> = new Set(['Tool', 'Prompt', 'Resource', 'Backend', 'MCP']);

const MAX_DEPTH = 32;

export interface ParsedEntities {
  readonly entities: WrittenEntities;
  readonly problems: readonly PolicyProblem[];
}

/** Reads `entitiesJson`. Throws CedarFailure. */
export const parseEntities = (text: string): ParsedEntities => {
  const read = valueIn(text);
  if ('problem' in read) return { entities: new Map(), problems: [read.problem] };
  const problems = read.list.flatMap(ownProblems).concat(twiceIn(read.list));
  const answer =
    problems.length > 0 ? undefined : withCedar((cedar) => cedar.checkParseEntities({ entities: read.list as never }));
  if (answer?.type === 'failure') problems.push(problem(answer.errors[0]?.message ?? 'not understood', REMEDY));
  if (problems.length > 0) return { entities: new Map(), problems };
  return { entities: new Map(read.list.map((each) => [uidKey(uidOf(each.uid)), entityOf(each)])), problems };
};

interface Listed {
  readonly uid: unknown;
  readonly attrs?: Readonly<Record<string, unknown>>;
  readonly parents?: readonly unknown[];
  readonly tags?: Readonly<Record<string, unknown>>;
}

const REMEDY = 'write [{"uid": {"type": "Group", "id": "admins"}, "attrs": {}, "parents": []}]';

const problem = (reason: string, remedy: string): PolicyProblem => ({ path: ['entitiesJson'], reason, remedy });

const valueIn = (text: string): { readonly list: readonly Listed[] } | { readonly problem: PolicyProblem } => {
  if (text.length > MAX_POLICIES_LENGTH)
    return { problem: problem(`longer than ${MAX_POLICIES_LENGTH} characters`, 'shorten it') };
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    return { problem: problem('not JSON', REMEDY) };
  }
  if (!Array.isArray(list) || !list.every(isListed))
    return { problem: problem('not a list of entities with uid, attrs and parents', REMEDY) };
  if (!isTransportable(list, 0))
    return { problem: problem('deeper than 32 levels, or with a number or a text that Cedar does not have', REMEDY) };
  return { list: list.map((each) => ({ ...each, attrs: each.attrs ?? {}, parents: each.parents ?? [] })) };
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isListed = (value: unknown): value is Listed => {
  if (!isObject(value)) return false;
  const { uid, attrs = {}, parents = [], tags = {} } = value;
  return isUid(uid) && isObject(attrs) && isObject(tags) && Array.isArray(parents) && parents.every(isUid);
};

const isUid = (value: unknown): boolean => {
  if (!isObject(value)) return false;
  const { type, id } = isObject(value['__entity']) ? value['__entity'] : value;
  return typeof type === 'string' && typeof id === 'string';
};

/** Cedar's interface fails, instead of refusing, for texts that are not Unicode and for what is nested too deeply. */
const isTransportable = (value: unknown, depth: number): boolean => {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value === 'number') return Number.isSafeInteger(value);
  if (typeof value !== 'object' || value === null) return value !== null;
  return (
    depth < MAX_DEPTH &&
    Object.entries(value).every(([key, each]) => key.isWellFormed() && isTransportable(each, depth + 1))
  );
};

const uidOf = (value: unknown): Uid => {
  const { __entity: inner, ...outer } = value as Uid & { readonly __entity?: Uid };
  const { type, id } = inner ?? outer;
  return { type, id };
};

const entityOf = ({ uid, attrs = {}, parents = [], tags }: Listed): WrittenEntity => ({
  uid: uidOf(uid),
  attrs,
  parents: parents.map(uidOf),
  ...(tags && { tags }),
  attributes: {
    kind: 'record',
    members: new Map(Object.entries(attrs).map(([name, each]) => [name, valueOfJson(each)])),
  },
});

/** What the runtime knows by itself is not for `entitiesJson` to say. */
const ownProblems = ({ uid, attrs = {}, parents = [] }: Listed, index: number): PolicyProblem[] => {
  const own = uidOf(uid);
  const at = `entity ${index}, ${uidKey(own)},`;
  const found: PolicyProblem[] = [];
  const claim = own.type === 'Client' ? Object.keys(attrs).find((name) => name.startsWith(CLAIM)) : undefined;
  if (claim !== undefined)
    found.push(problem(`${at} has the attribute ${claim}, which comes from tokens`, 'give it another name'));
  const served = parents.map(uidOf).find(({ type }) => SERVED.has(type));
  const remedy = 'use a type of your own for groups; the server says what belongs to a backend';
  if (served) found.push(problem(`${at} has the parent ${uidKey(served)}`, remedy));
  return found;
};

const twiceIn = (list: readonly Listed[]): PolicyProblem[] => {
  const known = new Set<string>();
  return list.flatMap(({ uid }, index) => {
    const key = uidKey(uidOf(uid));
    const isTwice = known.has(key);
    known.add(key);
    return isTwice ? [problem(`entity ${index}, ${key}, is there twice`, 'write it once')] : [];
  });
};
