export type Json = Readonly<Record<string, unknown>>;

/** What a strategic merge patch says beside values (Kubernetes documentation, "Strategic merge patch"). */
export const PATCH = '$patch';
export const RETAIN_KEYS = '$retainKeys';
const ELEMENT_ORDER = '$setElementOrder/';
const DELETE_FROM_LIST = '$deleteFromPrimitiveList/';

/** What a patch says of one field. */
export interface Change {
  /** Absent: nothing. */
  readonly value?: unknown;
  /** Elements, or only their keys, in the order that the list is to have. */
  readonly order?: readonly unknown[];
  /** Plain values that leave the list. */
  readonly remove?: readonly unknown[];
}

/** What a map of a patch says, by field. */
export const changesOf = (patch: Json): ReadonlyMap<string, Change> => {
  const changes = new Map<string, Change>();
  for (const [key, value] of Object.entries(patch)) {
    const { field, directive } = parseKey(key);
    if (directive === 'unknown') continue;
    if (directive !== 'value' && !Array.isArray(value)) continue;
    changes.set(field, { ...changes.get(field), [directive]: value });
  }
  return changes;
};

interface ParsedKey {
  readonly field: string;
  readonly directive: keyof Change | 'unknown';
}

/** `unknown` stands for what concerns the map as a whole, too. */
export const parseKey = (key: string): ParsedKey => {
  if (!key.startsWith('$')) return { field: key, directive: 'value' };
  if (key.startsWith(ELEMENT_ORDER)) return { field: key.slice(ELEMENT_ORDER.length), directive: 'order' };
  if (key.startsWith(DELETE_FROM_LIST)) return { field: key.slice(DELETE_FROM_LIST.length), directive: 'remove' };
  return { field: key, directive: 'unknown' };
};

/** A value of a patch that meets nothing to merge with: without directives and nulls. Undefined: nothing is left. */
export const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plain).filter((item) => item !== undefined);
  if (!isRecord(value)) return value ?? undefined;
  return Object.hasOwn(value, PATCH) ? undefined : plainFields(value);
};

/** The fields of a patch without directives and nulls. */
export const plainFields = (patch: Json): Json =>
  Object.fromEntries(
    Object.entries(patch)
      .filter(([key]) => !key.startsWith('$'))
      .map(([key, value]) => [key, plain(value)] as const)
      .filter(([, value]) => value !== undefined),
  );

export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
