import type { CelList, CelMap, CelValue } from '@bufbuild/cel';
import { engine } from './engine.ts';

/** The variables of conditions as CEL values, made once for all conditions over them. */
export interface Variables {
  readonly values: Readonly<Record<string, CelValue>>;
  /** Whether a key was read that is not there, since the last call. */
  readonly takeAbsence: () => boolean;
}

/** Values inside the variables, keys and elements included. */
const MAX_VALUES = 10_000;
/** Characters of all texts and keys. */
const MAX_CHARACTERS = 256 * 1024;

/** Undefined where the values are more than conditions may have to read. Values are those of JSON. */
export const variablesOf = (variables: Readonly<Record<string, unknown>>): Variables | undefined => {
  const conversion = new Conversion();
  const values: Record<string, CelValue> = {};
  for (const [name, value] of Object.entries(variables)) {
    const converted = conversion.valueOf(value, 0);
    if (converted === undefined) return undefined;
    values[name] = converted;
  }
  return { values, takeAbsence: () => conversion.takeAbsence() };
};

/** Deeper values are refused: conversion and comparison recurse. */
const MAX_DEPTH = 32;

class Conversion {
  #values = 0;
  #characters = 0;
  #hasMissed = false;

  takeAbsence(): boolean {
    const hasMissed = this.#hasMissed;
    this.#hasMissed = false;
    return hasMissed;
  }

  /** Undefined beyond the bounds. A number is a double, as in google.protobuf.Value. */
  valueOf(value: unknown, depth: number): CelValue | undefined {
    this.#values += 1;
    if (this.#values > MAX_VALUES || depth > MAX_DEPTH) return undefined;
    if (typeof value === 'string') return this.#text(value);
    if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
    if (Array.isArray(value)) return this.#list(value, depth);
    return typeof value === 'object' ? this.#map(value, depth) : null;
  }

  #text(text: string): string | undefined {
    this.#characters += text.length;
    return this.#characters > MAX_CHARACTERS ? undefined : text;
  }

  #list(elements: readonly unknown[], depth: number): CelList | undefined {
    const converted: CelValue[] = [];
    for (const each of elements) {
      const element = this.valueOf(each, depth + 1);
      if (element === undefined) return undefined;
      converted.push(element);
    }
    const list = engine().cel.celList(converted);
    return this.#noting(list, (get) => (index: number) => get(index));
  }

  #map(members: object, depth: number): CelMap | undefined {
    const converted = new Map<string, CelValue>();
    for (const [key, value] of Object.entries(members)) {
      const member = this.#text(key) === undefined ? undefined : this.valueOf(value, depth + 1);
      if (member === undefined) return undefined;
      converted.set(key, member);
    }
    const map = this.#noting(engine().cel.celMap(converted), (get) => (key: string) => get(key));
    // The package takes a member that is null for one that is absent.
    return Object.assign(map, { has: (key: unknown) => converted.has(key as string) });
  }

  /** The same list or map, which notes when something is read that it does not have. */
  #noting<K, C extends { get(key: K): CelValue | undefined }>(
    collection: C,
    as: (get: (key: K) => CelValue | undefined) => (key: never) => CelValue | undefined,
  ): C {
    const get = collection.get.bind(collection);
    const noted = as((key) => {
      const value = get(key);
      if (value === undefined) this.#hasMissed = true;
      return value;
    });
    return Object.assign(collection, { get: noted });
  }
}
