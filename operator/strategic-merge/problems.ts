import { type Json, PATCH, RETAIN_KEYS, changesOf, isRecord, parseKey } from './directives.ts';
import { type MergeKeys, type TypeNode, treeOf } from './merge-keys.ts';
import { firstPlaces } from './order.ts';

/** Something in a patch that cannot be merged. `path` is that of the patch's own field (`containers[0].env[1]`). */
export interface PatchProblem {
  readonly path: string;
  readonly reason: string;
  readonly remedy: string;
}

/** Where the walk is: in the type, and in what the user wrote. */
interface Place {
  /** Undefined: where nothing is merged as a list. */
  readonly type: TypeNode | undefined;
  readonly path: string;
}

/** Everything that the server would refuse to merge, and directives that would do something else than they say. */
export const patchProblems = (patch: Json, keys: MergeKeys): readonly PatchProblem[] =>
  inRecord(patch, { type: treeOf(keys), path: '' });

const inRecord = (patch: Json, place: Place): readonly PatchProblem[] => [
  ...Object.keys(patch).flatMap((key) => inDirective(patch, key, at(place, key))),
  ...[...changesOf(patch)].flatMap(([field, { value, order }]) => {
    const here = at(place, field);
    return [
      ...(value === undefined || value === null ? [] : inValue(value, here)),
      ...(order === undefined
        ? []
        : inOrder(order, value, { ...at(place, `$setElementOrder/${field}`), keyed: here.type?.key })),
    ];
  }),
];

const inValue = (value: unknown, place: Place): readonly PatchProblem[] => {
  const key = place.type?.key;
  if (key !== undefined) {
    if (!Array.isArray(value)) return [problem(place, 'is no list', 'write a list')];
    return key === '' ? inAtomicList(value, place) : inKeyedList(value, key, place);
  }
  if (isRecord(value)) return inRecord(value, place);
  // A list is below it.
  if (place.type !== undefined) return [problem(place, 'is no map', 'write a map')];
  return Array.isArray(value) ? inAtomicList(value, place) : [];
};

const inKeyedList = (list: readonly unknown[], key: string, place: Place): readonly PatchProblem[] => {
  const places = firstPlaces(list.map((item) => (isRecord(item) ? item[key] : undefined)));
  return list.flatMap((item, index) => {
    const here = { ...place, path: `${place.path}[${index}]` };
    if (!isRecord(item)) return [problem(here, 'is no map', `write a map with ${key}`)];
    if (item[PATCH] === 'replace') return alone(item, here);
    const id = item[key];
    if (typeof id !== 'string' && typeof id !== 'number') {
      return [problem(here, `has no ${key}`, `set ${key}, by which the elements of this list are told apart`)];
    }
    const isRepeated = !MAY_REPEAT.has(key) && places.get(id) !== index;
    return [...(isRepeated ? [twice(here, key, id)] : []), ...inRecord(item, here)];
  });
};

/** Two ports of one number may differ in protocol, and two constraints of one topology in what to do. */
const MAY_REPEAT: ReadonlySet<string> = new Set(['containerPort', 'topologyKey']);

const twice = (place: Place, key: string, id: string | number): PatchProblem =>
  problem(place, `${key} ${id} is in this list twice`, 'put both into one element');

/** The server drops the element itself, whatever else it says. */
const alone = (item: Json, place: Place): readonly PatchProblem[] =>
  Object.keys(item).length === 1
    ? []
    : [problem(place, `${PATCH}: replace speaks for the whole list`, 'put it into an element of its own')];

const inAtomicList = (list: readonly unknown[], place: Place): readonly PatchProblem[] =>
  list.flatMap((item, index) => {
    const here = { ...place, path: `${place.path}[${index}]` };
    if (!isRecord(item)) return [];
    return Object.hasOwn(item, PATCH)
      ? [problem(here, `${PATCH} has no meaning in a list that is replaced as a whole`, 'remove it')]
      : inRecord(item, here);
  });

const inDirective = (patch: Json, key: string, place: Place): readonly PatchProblem[] => {
  if (!key.startsWith('$')) return [];
  if (key === PATCH) return inPatch(patch[key], place);
  if (key === RETAIN_KEYS) return inRetainKeys(patch, place);
  if (parseKey(key).directive === 'unknown') {
    return [
      problem(
        place,
        'is no directive',
        'use $patch, $retainKeys, $setElementOrder/<field> or $deleteFromPrimitiveList/<field>',
      ),
    ];
  }
  return Array.isArray(patch[key]) ? [] : [problem(place, 'is no list', 'write a list')];
};

const inPatch = (word: unknown, place: Place): readonly PatchProblem[] =>
  word === 'delete' || word === 'replace'
    ? []
    : [
        problem(
          place,
          `${JSON.stringify(word)} is no such word`,
          'write delete or replace; without it, maps are merged',
        ),
      ];

const inRetainKeys = (patch: Json, place: Place): readonly PatchProblem[] => {
  const kept = patch[RETAIN_KEYS];
  if (!Array.isArray(kept)) return [problem(place, 'is no list', 'list the fields that stay')];
  const named = new Set<unknown>(kept);
  const forgotten = Object.keys(patch).filter((key) => !key.startsWith('$') && patch[key] !== null && !named.has(key));
  return forgotten.map((key) => problem(place, `lacks ${key}, which is set beside it`, `add ${key}, or remove it`));
};

/** The server refuses an order that contradicts the one of the patch's own elements. */
const inOrder = (
  order: readonly unknown[],
  value: unknown,
  { keyed, ...place }: Place & { readonly keyed: string | undefined },
): readonly PatchProblem[] => {
  const identity = (item: unknown): unknown => (keyed && isRecord(item) ? item[keyed] : item);
  if (keyed && order.some((item) => !isRecord(item) || item[keyed] === undefined)) {
    return [problem(place, `has an element without ${keyed}`, `write a map with ${keyed} for each element`)];
  }
  const named = (Array.isArray(value) ? value : []).filter((item) => !isRecord(item) || item[PATCH] === undefined);
  const orderedAt = firstPlaces(order.map(identity));
  const places = named.map((item) => orderedAt.get(identity(item)) ?? -1);
  return places.every((each, index) => each >= 0 && each >= (places[index - 1] ?? 0))
    ? []
    : [problem(place, 'differs from the order of the elements that are set', 'name all of them, in their order')];
};

const at = (place: Place, field: string): Place => ({
  type: place.type?.fields.get(field),
  path: place.path === '' ? field : `${place.path}.${field}`,
});

const problem = ({ path }: Place, reason: string, remedy: string): PatchProblem => ({ path, reason, remedy });
