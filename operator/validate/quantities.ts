import { amountOf } from '../quantity.ts';
import { AT, type Json } from './pod-template-parts.ts';
import { type Violation, violation } from './validator.ts';

/**
 * The API server works on some quantities for as long as it runs (`1e999999999`), so that none is sent which is not
 * known to be one. Where a pod template has them: in `resources.limits` and `resources.requests` of whatever has those,
 * and in the fields below.
 */
export const quantityProblems = (patch: Json): readonly Violation[] => inside(patch['spec'], [AT, 'spec']);

type Path = readonly string[];

const inside = (value: unknown, path: Path): readonly Violation[] => {
  if (typeof value !== 'object' || value === null) return isQuantity(path) ? problemOf(value, path) : [];
  const entries = Object.entries(value as Json);
  const isList = Array.isArray(value);
  return entries.flatMap(([key, inner]) =>
    isList ? inside(inner, [...path.slice(0, -1), `${path.at(-1)}[${key}]`]) : inside(inner, [...path, key]),
  );
};

/** `$patch: delete` and its like say what becomes of the map (strategic merge). */
const isQuantity = (path: Path): boolean => {
  if (path.at(-1)?.startsWith('$') === true) return false;
  const [part = '', list = '', key = ''] = path.slice(-3);
  if (part === 'resources' && (list === 'limits' || list === 'requests')) return true;
  if (part === 'spec' && list === 'overhead') return true;
  return (list === 'emptyDir' && key === 'sizeLimit') || (list === 'resourceFieldRef' && key === 'divisor');
};

/** Null deletes. */
const problemOf = (value: unknown, path: Path): readonly Violation[] =>
  value === null || amountOf(value) !== undefined
    ? []
    : [
        violation(
          path.join('.'),
          `${clipped(JSON.stringify(value))} is no amount`,
          'write one like 500m, 2, 256Mi or 1e3',
        ),
      ];

const clipped = (text: string): string => (text.length > 40 ? `${text.slice(0, 40)}…` : text);
