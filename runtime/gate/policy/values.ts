/** A value of Cedar as the evaluation of conditions sees it. */
export type Value = boolean | number | string | EntityValue | SetValue | RecordValue | OpaqueValue;

export interface EntityValue {
  readonly kind: 'entity';
  readonly type: string;
  /** Undefined: not known, but it begins with `beginning`. */
  readonly id: string | undefined;
  readonly beginning?: string;
}

export interface SetValue {
  readonly kind: 'set';
  readonly items: readonly Value[];
}

export interface RecordValue {
  readonly kind: 'record';
  readonly members: ReadonlyMap<string, Value>;
}

/** A value that Cedar alone can work with: an extension type, or an integer that a double does not hold exactly. */
export interface OpaqueValue {
  readonly kind: 'opaque';
}

export const OPAQUE: OpaqueValue = Object.freeze({ kind: 'opaque' });

export const isEntity = (value: Value): value is EntityValue => typeof value === 'object' && value.kind === 'entity';
export const isSet = (value: Value): value is SetValue => typeof value === 'object' && value.kind === 'set';
export const isRecord = (value: Value): value is RecordValue => typeof value === 'object' && value.kind === 'record';
export const isOpaque = (value: Value): boolean => typeof value === 'object' && value.kind === 'opaque';

/** Whether an opaque value is anywhere in it, or an entity whose id is not known. */
export const holdsOpaque = (value: Value): boolean => {
  if (typeof value !== 'object') return false;
  if (value.kind === 'opaque') return true;
  if (value.kind === 'entity') return value.id === undefined;
  if (value.kind === 'set') return value.items.some(holdsOpaque);
  return value.kind === 'record' && [...value.members.values()].some(holdsOpaque);
};

/** Cedar's `==` for values without opaque parts and entities whose ids are known. */
export const isEqual = (a: Value, b: Value): boolean => {
  if (typeof a !== 'object' || typeof b !== 'object') return a === b;
  if (isEntity(a) && isEntity(b)) return a.type === b.type && a.id === b.id;
  if (isSet(a) && isSet(b)) return a.items.every((each) => holds(b, each)) && b.items.every((each) => holds(a, each));
  if (isRecord(a) && isRecord(b)) return a.members.size === b.members.size && [...a.members].every(isIn(b));
  return false;
};

export const holds = ({ items }: SetValue, wanted: Value): boolean => items.some((item) => isEqual(item, wanted));

const isIn =
  ({ members }: RecordValue) =>
  ([name, value]: readonly [string, Value]): boolean => {
    const other = members.get(name);
    return other !== undefined && isEqual(value, other);
  };

/** JSON as Cedar's interface takes it: a number may be text, of an integer that a double does not hold. */
export type CedarJson = unknown;

/** A value of a claim or of an argument in both forms. */
export interface Represented {
  readonly value: Value;
  readonly json: CedarJson;
}

/** Why Cedar has no such value. */
export type Unrepresentable =
  | 'float'
  | 'integer'
  | 'null'
  | 'text'
  | 'deep'
  | 'large'
  | 'twice'
  | 'reserved'
  | 'no object';
