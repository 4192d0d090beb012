import * as fc from 'fast-check';

import type { Case, Manifest } from './case.ts';
import { manifestOf } from './case.ts';

type Path = readonly (string | number)[];

/** One thing done to a manifest; `where` and `what` are taken modulo what there is. */
export interface Mutation {
  readonly where: number;
  readonly what: 'remove' | 'replace' | 'add' | 'double';
  readonly value: unknown;
}

const values: readonly unknown[] = [
  null,
  '',
  'text',
  'a'.repeat(70),
  '5s',
  0,
  -1,
  1.5,
  2 ** 31,
  true,
  [],
  {},
  [{}],
  { name: 'a' },
  ['a', 'a'],
];

export const anyManifest = (cases: readonly Case[]): fc.Arbitrary<Manifest> =>
  fc
    .record({
      base: fc.constantFrom(...cases),
      mutations: fc.array(
        fc.record({
          where: fc.nat(10_000),
          what: fc.constantFrom('remove' as const, 'replace' as const, 'add' as const, 'double' as const),
          value: fc.constantFrom(...values),
        }),
        { minLength: 1, maxLength: 3 },
      ),
    })
    .map(({ base, mutations }) => mutations.reduce(mutate, manifestOf(base)));

const mutate = (manifest: Manifest, { where, what, value }: Mutation): Manifest => {
  const copy = structuredClone(manifest);
  const paths = pathsIn(copy.spec, ['spec']);
  const path = paths[where % paths.length];
  if (path === undefined) return copy;
  const parent = path.slice(0, -1).reduce<unknown>((at, step) => (at as Readonly<Record<string, unknown>>)[step], copy);
  change(parent, path.at(-1) ?? 'spec', what, value);
  return copy;
};

const change = (parent: unknown, step: string | number, what: Mutation['what'], value: unknown): void => {
  if (Array.isArray(parent)) {
    if (what === 'remove') parent.splice(Number(step), 1);
    else if (what === 'double') parent.push(structuredClone(parent[Number(step)]));
    else parent[Number(step)] = value;
    return;
  }
  const fields = parent as Record<string, unknown>;
  if (what === 'remove') delete fields[step];
  else if (what === 'add') fields['unheardOf'] = value;
  else fields[step] = value;
};

/** Every field and item below the value. */
const pathsIn = (value: unknown, path: Path): readonly Path[] => {
  if (typeof value !== 'object' || value === null) return [path];
  const entries: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
    ? value.map((item, index) => [index, item] as const)
    : Object.entries(value);
  return [path, ...entries.flatMap(([step, child]) => pathsIn(child, [...path, step]))];
};
