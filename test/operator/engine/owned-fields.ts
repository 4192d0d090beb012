import { type KubeObject, fieldManager } from '../../../operator/object.ts';

/** A field that our manager applied, as the way to it in `fieldsV1`. */
export interface OwnedField {
  readonly steps: readonly string[];
  /** A value, not what holds others. */
  readonly isLeaf: boolean;
  /** What a list tells the element apart by: changed, it would be another element. */
  readonly isKey: boolean;
}

type Tree = Readonly<Record<string, unknown>>;

/** All fields of the object that we own by themselves, and what holds them where that is ours too. */
export const ownedFields = ({ metadata }: KubeObject): readonly OwnedField[] => {
  const entry = metadata.managedFields?.find(
    ({ manager, operation, subresource }) =>
      manager === fieldManager && operation === 'Apply' && subresource === undefined,
  );
  return fieldsIn(entry?.fieldsV1 ?? {}, []);
};

const fieldsIn = (tree: Tree, steps: readonly string[]): readonly OwnedField[] =>
  Object.entries(tree)
    .filter(([step]) => step !== '.')
    .flatMap(([step, inner]) => {
      const below = inner as Tree;
      const names = Object.keys(below);
      const isLeaf = names.every((name) => name === '.');
      const field = { steps: [...steps, step], isLeaf, isKey: keysOf(steps.at(-1)).includes(step.slice(2)) };
      return [...(isLeaf || names.includes('.') ? [field] : []), ...fieldsIn(below, field.steps)];
    });

const keysOf = (step = ''): readonly string[] =>
  step.startsWith('k:') ? Object.keys(JSON.parse(step.slice(2)) as Tree) : [];

/** Where the field is in this object, as a JSON pointer, and its value; undefined where it is not. */
export const fieldIn = (
  object: unknown,
  { steps }: OwnedField,
): { readonly pointer: string; readonly value: unknown } | undefined => {
  let at: { readonly pointer: string; readonly value: unknown } | undefined = { pointer: '', value: object };
  for (const step of steps) {
    const place = placeOf(at.value, step);
    const value: unknown = (at.value as Tree | undefined)?.[place];
    if (value === undefined) return undefined;
    at = { pointer: `${at.pointer}/${place.replaceAll('~', '~0').replaceAll('/', '~1')}`, value };
  }
  return at;
};

const placeOf = (value: unknown, step: string): string => {
  const rest = step.slice(2);
  if (step.startsWith('f:')) return rest;
  const wanted: unknown = JSON.parse(rest);
  const isIt = (item: unknown): boolean =>
    step.startsWith('v:')
      ? item === wanted
      : Object.entries(wanted as Tree).every(([key, held]) => (item as Tree)[key] === held);
  return String(Array.isArray(value) ? value.findIndex(isIt) : -1);
};

/** The values of all that we own. */
export const ownedValues = (object: KubeObject): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    ownedFields(object)
      .filter(({ isLeaf }) => isLeaf)
      .map((field) => [field.steps.join(' '), fieldIn(object, field)?.value]),
  );

/** Values that a user may set by hand; the API server accepts some of them. Undefined: the field is removed. */
export const otherValues = (value: unknown, { isLeaf, isKey }: OwnedField): readonly unknown[] => {
  if (!isLeaf || isKey) return [];
  if (typeof value === 'boolean') return [!value];
  if (typeof value === 'number') return [value + 1, value - 1];
  if (typeof value === 'string') return [`${value}x`, ...WORDS].filter((word) => word !== value);
  if (Array.isArray(value)) return others(value[0]).flatMap((other) => [[...(value as unknown[]), other], [other]]);
  const entries = Object.entries(value as Tree);
  const flipped = entries.flatMap(([key, held]) => (typeof held === 'boolean' ? [{ [key]: !held }] : []));
  return entries.length === 0 ? [] : [{ x: 'y' }, ...flipped].map((change) => ({ ...(value as Tree), ...change }));
};

const others = (like: unknown): readonly unknown[] =>
  typeof like === 'object' ? [{ ...like, name: 'x' }] : ['x', 'Egress'];

/** Of fields that take some words only. */
const WORDS =
  '7 Always Never None ClientIP NodePort UDP HTTPS Unconfined Recreate OnDelete OrderedReady Retain Delete 3Gi'.split(
    ' ',
  );
