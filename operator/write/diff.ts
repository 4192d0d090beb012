import { type KubeObject, fieldManager } from '../object.ts';
import { amountOf } from '../quantity.ts';

type Json = Readonly<Record<string, unknown>>;

/**
 * A node of a `fieldsV1` tree as its parent holds it: `f:<field>`, `k:<keys of a list element>`, `v:<element of a set>`
 * below it, `.` for the node itself. Undefined: our manager holds nothing here.
 */
type Owned = Json | undefined;

/**
 * Whether `live` already has every field of `desired` that our field manager owns. Compared are the desired fields and
 * those that `managedFields` lists under our manager: an owned field that is not desired any more is a difference, a
 * field that another manager added or the server defaulted is not. Fields that identify the object are not compared.
 */
export const agrees = (desired: KubeObject, live: KubeObject, subresource?: 'status'): boolean => {
  const entry = live.metadata.managedFields?.find(
    ({ manager, operation, subresource: of }) =>
      manager === fieldManager && operation === 'Apply' && of === subresource,
  );
  return entry !== undefined && sameRecord(comparable(desired, subresource), live, entry.fieldsV1);
};

const comparable = (desired: KubeObject, subresource: 'status' | undefined): Json => {
  if (subresource !== undefined) {
    return { [subresource]: desired[subresource] };
  }
  const { apiVersion: _, kind: __, metadata, ...content } = desired;
  const { labels, annotations, ownerReferences } = metadata;
  return { ...content, metadata: { labels, annotations, ownerReferences } };
};

const same = (desired: unknown, live: unknown, owned: Owned, field = ''): boolean => {
  if (isNothing(desired)) {
    const isWantedEmpty = Array.isArray(desired) && wholeLists.has(field);
    return isNothing(live) || (!isWantedEmpty && holdsNothingInside(owned));
  }
  if (Array.isArray(desired)) {
    return Array.isArray(live) && sameList(desired, live, owned);
  }
  if (isRecord(desired)) {
    if (owned === undefined && saysSomething(desired)) {
      // Ownership is lost as a whole: the map is atomic (`nodeSelector`), and another manager has replaced it.
      return false;
    }
    return (
      isRecord(live) &&
      (holdsNothingInside(owned) ? contains(live, desired, field) : sameRecord(desired, live, owned, field))
    );
  }
  return sameScalar(desired, live, field);
};

/** Is there a value in it that a manager could hold? */
const saysSomething = (value: unknown): boolean =>
  isRecord(value) || Array.isArray(value) ? Object.values(value).some(saysSomething) : !isNothing(value);

const sameRecord = (desired: Json, live: Json, owned: Owned, field = ''): boolean => {
  const fieldOf = (key: string): string => (quantityFields.has(field) ? field : key);
  const wanted = Object.entries(desired).every(([key, value]) =>
    same(value, live[key], recordAt(owned, `f:${key}`), fieldOf(key)),
  );
  const held = Object.keys(owned ?? {}).filter((key) => key.startsWith('f:'));
  // `emptyDir: {}` is wanted although it is empty, hence `??`.
  const unwanted = held.some(
    (key) => (desired[key.slice(2)] ?? undefined) === undefined && !isNothing(live[key.slice(2)]),
  );
  return wanted && !unwanted;
};

const sameList = (desired: readonly unknown[], live: readonly unknown[], owned: Owned): boolean => {
  if (owned === undefined) {
    // We never applied this list, or lost all of it.
    return false;
  }
  const keys = Object.keys(owned);
  if (keys.some((key) => key.startsWith('k:'))) {
    return sameKeyedList(desired, live, owned);
  }
  const values = keys.filter((key) => key.startsWith('v:')).map((key) => JSON.parse(key.slice(2)) as unknown);
  if (values.length > 0) {
    const [ours, there] = [new Set(values), new Set(live)];
    return values.length === desired.length && desired.every((item) => ours.has(item) && there.has(item));
  }
  return contains(live, desired, '');
};

/** Elements are found by their keys; neither their order nor foreign elements matter. */
const sameKeyedList = (desired: readonly unknown[], live: readonly unknown[], owned: Json): boolean => {
  const unmatched = new Map(
    Object.keys(owned)
      .filter((key) => key.startsWith('k:'))
      .map((key) => [key, JSON.parse(key.slice(2)) as Json]),
  );
  const fields = [...new Set([...unmatched.values()].flatMap((identity) => Object.keys(identity)))];
  const identityOf = (item: unknown): string => identityBy(fields, item);
  // Looked up, for a list may have thousands of elements.
  const keys = new Map([...unmatched].map(([key, identity]) => [identityOf(identity), key]));
  const findWithDefaults = finderWithDefaults(fields, unmatched);
  const counterparts = new Map(live.toReversed().map((item) => [identityOf(item), item]));
  const wanted = desired.every((item) => {
    const exact = keys.get(identityOf(item)) ?? '';
    const held = unmatched.has(exact) ? exact : findWithDefaults(item);
    const identity = unmatched.get(held ?? '');
    if (held === undefined || identity === undefined) {
      return false;
    }
    unmatched.delete(held);
    const counterpart = counterparts.get(identityOf(identity));
    return counterpart !== undefined && same(item, counterpart, recordAt(owned, held));
  });
  return wanted && unmatched.size === 0;
};

const identityBy = (fields: readonly string[], item: unknown): string =>
  JSON.stringify(isRecord(item) ? fields.map((field) => item[field]) : item);

/**
 * Finds the first unmatched key of an element that may leave a part of it to its default: a key is
 * `k:{"containerPort":4483,"protocol":"TCP"}`. Keys are looked up by the parts that the element gives; of those there
 * are few different choices.
 */
const finderWithDefaults = (
  fields: readonly string[],
  unmatched: ReadonlyMap<string, Json>,
): ((item: unknown) => string | undefined) => {
  /** Parts that are given → what they say → keys, the first one last. */
  const indexes = new Map<string, Map<string, string[]>>();
  const indexBy = (given: readonly string[]): Map<string, string[]> =>
    Map.groupBy([...unmatched.keys()].toReversed(), (key) => identityBy(given, unmatched.get(key)));
  return (item) => {
    if (!isRecord(item)) return undefined;
    const given = fields.filter((field) => item[field] !== undefined);
    const index = indexes.get(given.join()) ?? indexBy(given);
    indexes.set(given.join(), index);
    const keys = index.get(identityBy(given, item)) ?? [];
    // What is matched stays so.
    while (keys.length > 0 && !unmatched.has(keys.at(-1) ?? '')) keys.pop();
    return keys.at(-1);
  };
};

/** Everything wanted is there. Objects may have more, because the server fills in defaults; lists may not. */
const contains = (live: unknown, desired: unknown, field: string): boolean => {
  if (isNothing(desired)) {
    return isNothing(live) || isRecord(live);
  }
  if (Array.isArray(desired)) {
    return (
      Array.isArray(live) &&
      live.length === desired.length &&
      desired.every((item, index) => contains(live[index], item, ''))
    );
  }
  if (isRecord(desired)) {
    const fieldOf = (key: string): string => (quantityFields.has(field) ? field : key);
    return isRecord(live) && Object.entries(desired).every(([key, value]) => contains(live[key], value, fieldOf(key)));
  }
  return sameScalar(desired, live, field);
};

/** Fields of a pod that are quantities, or maps of them. */
const quantityFields = new Set(['limits', 'requests', 'sizeLimit', 'divisor']);

/**
 * Lists whose elements have one owner: an empty one leaves no room for what others add, and a Role without rules gives
 * no rights.
 */
const wholeLists = new Set(['rules']);

const sameScalar = (desired: unknown, live: unknown, field: string): boolean =>
  desired === live || (quantityFields.has(field) && isSameQuantity(desired, live));

const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Empty lists and maps are dropped when the server stores an object, so they are the same as nothing. */
const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (Array.isArray(value) && value.length === 0) ||
  (isRecord(value) && Object.values(value).every((inner) => inner === undefined));

/** The value is held as a whole (an atomic one) or not at all: no part of it has an owner of its own. */
const holdsNothingInside = (owned: Owned): boolean => Object.keys(owned ?? {}).every((key) => key === '.');

const recordAt = (owned: Owned, key: string): Owned => {
  const child = owned?.[key];
  return isRecord(child) ? child : undefined;
};

/**
 * Are these the same amount? `0.5` and `500m` are: the server rewrites quantities into one canonical form, so a
 * comparison of texts would never come to rest.
 */
const isSameQuantity = (desired: unknown, live: unknown): boolean => {
  const amount = amountOf(desired);
  return amount !== undefined && amount === amountOf(live);
};
