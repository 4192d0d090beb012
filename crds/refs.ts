import { isObject, ownProperty } from './defaults.ts';
import { pathText } from './problem.ts';
import type { SchemaNode } from './structural.ts';

/** That one object names another, in the same namespace. */
export interface Reference {
  /** Where in the object, e.g. `spec.groupRef`. */
  readonly path: string;
  /** Kind of the object named, `Secret` and `ConfigMap` included. */
  readonly kind: string;
  readonly name: string;
}

/** Every reference in the value, in the order of the schema. References without a name are left out. */
export function referencesIn(
  node: SchemaNode,
  value: unknown,
  path: readonly (string | number)[] = [],
): readonly Reference[] {
  if (Array.isArray(value)) {
    const { items } = node;
    return items === undefined ? [] : value.flatMap((item, index) => referencesIn(items, item, [...path, index]));
  }
  if (!isObject(value)) return [];
  const { properties = {}, additionalProperties, refersTo } = node;
  const name = value['name'];
  const own =
    refersTo === undefined || typeof name !== 'string' || name === ''
      ? []
      : [{ path: pathText(path), kind: refersTo, name }];
  const inside = Object.entries(value).flatMap(([key, field]) => {
    const child = ownProperty(properties, key) ?? additionalProperties;
    return child === undefined ? [] : referencesIn(child, field, [...path, key]);
  });
  return [...own, ...inside];
}

/** Every kind that a value of this schema may name. */
export function kindsReferredTo(node: SchemaNode): readonly string[] {
  const { properties = {}, additionalProperties, items, refersTo } = node;
  const inside = [...Object.values(properties), additionalProperties, items].filter((child) => child !== undefined);
  return [...new Set([...(refersTo === undefined ? [] : [refersTo]), ...inside.flatMap(kindsReferredTo)])];
}
