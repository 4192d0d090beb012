/** A value nothing inside of which can be changed. */
export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

/** A file or a resource before it is parsed: read-only all the way down; an optional field is there or is not. */
export type AsWritten<T> = T extends readonly (infer Item)[]
  ? readonly AsWritten<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: AsWritten<Exclude<T[Key], undefined>> }
    : T;

/** Freezes plain objects and lists all the way down, in place. */
export function deepFreeze<T>(value: T): DeepReadonly<T> {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const each of Object.values(value)) deepFreeze(each);
  }
  return value as DeepReadonly<T>;
}
