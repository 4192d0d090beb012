import { kinds } from '../../../crds/index.ts';
import { type SchemaNode, structuralOf } from '../../../crds/structural.ts';
import type { Case } from '../case.ts';
import { casesOf } from '../case.ts';

type Path = readonly string[];

/** Paths of every reference below a schema: names of fields, `0` in a list, `any` in a map. */
const referencePaths = (node: SchemaNode, path: Path = []): readonly Path[] => {
  const { properties = {}, additionalProperties, items, refersTo } = node;
  return [
    ...(refersTo === undefined ? [] : [path]),
    ...Object.entries(properties).flatMap(([name, field]) => referencePaths(field, [...path, name])),
    ...(items === undefined ? [] : referencePaths(items, [...path, '0'])),
    ...(additionalProperties === undefined ? [] : referencePaths(additionalProperties, [...path, 'any'])),
  ];
};

const ELSEWHERE = { name: 'it', namespace: 'elsewhere' };

/**
 * Of the whole manifest, only whether the reference has a namespace matters: unknown fields are told before anything
 * else.
 */
const around = (path: Path): unknown =>
  path.reduceRight<unknown>((value, step) => (step === '0' ? [value] : { [step]: value }), ELSEWHERE);

const textOf = (path: Path): string => path.map((step) => (step === '0' ? '[0]' : `.${step}`)).join('');

/** docs/decisions.md "References stay in the namespace": for every field of every kind that names an object. */
export const referenceCases: readonly Case[] = Object.values(kinds).flatMap(({ kind, spec }) =>
  referencePaths(structuralOf(spec)).map((path) =>
    casesOf(kind).refuses(
      { of: 'crd.ref.no-namespace-field', set: { [path[0] ?? '']: around(path.slice(1)) } },
      `spec${textOf(path)}.namespace`,
      'unknown field',
    ),
  ),
);
