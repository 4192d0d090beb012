import { clipped, conditionsIn, problem } from '../plan/conditions.ts';

type Status = Readonly<Record<string, unknown>>;

/**
 * Spec and status together, in bytes of JSON: etcd takes 1.5 MiB for all of an object, and two thirds of that may go
 * into what the API server notes of each field (`managedFields`) and kubectl of the spec
 * (`last-applied-configuration`).
 */
const mostBytes = 512 * 1024;

/** So much of a status is tried beside any spec: nobody shall have to guess. */
const leastBytes = 64 * 1024;

/** For a status beside this spec. */
export const roomBeside = (spec: unknown): number => Math.max(leastBytes, mostBytes - bytesOf(spec));

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

/** For the condition that says what is missing. */
const conditionBytes = 1024;

/** Characters of a message where there is no room. */
const shortMessage = 1024;

/**
 * The status in at most so many bytes: the longest lists are told from their beginning, as far as there is room, and a
 * condition says so. What has no room even so is told without them, and with short messages.
 */
export const fitted = (status: Status, room: number): Status => {
  if (bytesOf(status) <= room) return status;
  const lists = Object.entries(status).filter(
    (entry): entry is List => entry[0] !== 'conditions' && isFilledList(entry[1]),
  );
  let left = room - conditionBytes - bytesOf({ ...status, ...Object.fromEntries(lists.map(([key]) => [key, []])) });
  const cut: (readonly [string, readonly unknown[]])[] = [];
  // The short ones first: they are told whole, and what they leave is for the long ones.
  for (const [key, items] of lists.toSorted((one, other) => bytesOf(one[1]) - bytesOf(other[1]))) {
    const kept = beginning(items, left);
    left -= bytesOf(kept);
    cut.push([key, kept]);
  }
  return told({ ...status, ...Object.fromEntries(cut) }, whatIsCut(lists, new Map(cut)), left >= 0);
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

const told = (status: Status, cut: readonly string[], hasRoom: boolean): Status => {
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
