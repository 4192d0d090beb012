import { clipped, conditionsIn, problem } from '../plan/conditions.ts';

type Status = Readonly<Record<string, unknown>>;

/**
 * Spec and status together, in bytes of JSON: etcd takes 1.5 MiB for all of an object, and two thirds of that may go
 * into what the API server notes of each field (`managedFields`) and kubectl of the spec
 * (`last-applied-configuration`).
 */
const mostBytes = 512 * 1024;

/** A status of this size is tried beside any spec, however large. */
const leastBytes = 64 * 1024;

/** For a status beside this spec. */
export const maxStatusBytes = (spec: unknown): number => Math.max(leastBytes, mostBytes - bytesOf(spec));

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

/** For the condition that says what is missing. */
const conditionBytes = 1024;

/** Characters of a message where there is no room. */
const shortMessage = 1024;

/**
 * The status in at most `room` bytes of JSON: the longest lists are truncated, and a condition says so. A status that
 * is still too large is written without its lists, and with short messages.
 */
export const truncatedStatus = (status: Status, room: number): Status => {
  if (bytesOf(status) <= room) return status;
  const lists = Object.entries(status).filter(
    (entry): entry is List => entry[0] !== 'conditions' && isFilledList(entry[1]),
  );
  let left = room - conditionBytes - bytesOf({ ...status, ...Object.fromEntries(lists.map(([key]) => [key, []])) });
  const cut: (readonly [string, readonly unknown[]])[] = [];
  // Short lists first: they are kept whole, and the rest is for the long ones.
  for (const [key, items] of lists.toSorted((one, other) => bytesOf(one[1]) - bytesOf(other[1]))) {
    const kept = beginning(items, left);
    left -= bytesOf(kept);
    cut.push([key, kept]);
  }
  return withShortenedCondition({ ...status, ...Object.fromEntries(cut) }, whatIsCut(lists, new Map(cut)), left >= 0);
};

type List = [string, readonly unknown[]];

const isFilledList = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

const beginning = (items: readonly unknown[], room: number): readonly unknown[] => {
  let used = 0;
  const end = items.findIndex((item) => (used += bytesOf(item) + 1) > room);
  return end === -1 ? items : items.slice(0, end);
};

const whatIsCut = (lists: readonly List[], kept: ReadonlyMap<string, readonly unknown[]>): readonly string[] =>
  lists
    .map(([key, { length }]) => ({ key, length, shown: kept.get(key)?.length ?? 0 }))
    .filter(({ length, shown }) => shown < length)
    .map(({ key, length, shown }) => `status.${key} names ${shown} of ${length}`);

const withShortenedCondition = (status: Status, cut: readonly string[], hasRoom: boolean): Status => {
  const conditions = conditionsIn(status);
  const short = conditions.map((each) => (hasRoom ? each : { ...each, message: clipped(each.message, shortMessage) }));
  const what = cut.length === 0 ? 'messages are cut short' : cut.join(', ');
  const shortened = problem('StatusShortened', 'TooLarge', `${what}: the API server takes no larger object; ${REMEDY}`);
  const { message } = status;
  return {
    ...status,
    ...(!hasRoom && typeof message === 'string' && { message: clipped(message, shortMessage) }),
    conditions: [...short, shortened],
  };
};

const REMEDY = 'divide it, or shorten what it holds';
