type Json = Readonly<Record<string, unknown>>;

/**
 * Where two values differ, as paths of the fields: `spec.template.spec.containers[vmcp].image`. An element of a list
 * goes by its `name` or `type` where it has one, else by its place. Never a value.
 */
export const changedPaths = (before: unknown, after: unknown, path = ''): readonly string[] => {
  if (Object.is(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after)) {
    return changedInside(elementsOf(before), elementsOf(after), (name) => `${path}[${name}]`);
  }
  if (isRecord(before) && isRecord(after)) {
    return changedInside(before, after, (name) => fieldPath(path, name));
  }
  return [path];
};

const changedInside = (before: Json, after: Json, pathOf: (name: string) => string): readonly string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) =>
    changedPaths(before[name], after[name], pathOf(name)),
  );

const fieldPath = (path: string, name: string): string =>
  /^[\w-]+$/.test(name) ? `${path}${path === '' ? '' : '.'}${name}` : `${path}["${name}"]`;

const elementsOf = (list: readonly unknown[]): Json => {
  const named = list.map((item, index) => [nameOf(item) ?? String(index), item] as const);
  // Names that are not of one element each say nothing.
  const isTold = new Set(named.map(([name]) => name)).size === named.length;
  return Object.fromEntries(isTold ? named : list.map((item, index) => [String(index), item]));
};

const nameOf = (item: unknown): string | undefined => {
  if (!isRecord(item)) return undefined;
  const name = item['name'] ?? item['type'];
  return typeof name === 'string' ? name : undefined;
};

const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
