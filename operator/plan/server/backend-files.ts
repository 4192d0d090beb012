import { type PlannedBackend, whyDown } from './backends.ts';

/** Files that the config names for a backend, by its name. */
export type BackendFiles = Readonly<Record<string, readonly string[]>>;

/** A withheld backend is not in the config: its files are those `known` from when it was. */
export const backendFiles = (
  backends: readonly PlannedBackend[],
  filePaths: readonly string[],
  known: BackendFiles = {},
): BackendFiles =>
  Object.fromEntries(
    backends.flatMap((backend) => {
      const { name } = backend;
      const before = Object.hasOwn(known, name) ? known[name] : undefined;
      const files = whyDown(backend) === undefined ? namedFor(backend, filePaths) : (before ?? []);
      return files.length === 0 ? [] : [[name, files] as const];
    }),
  );

const namedFor = ({ entry, strategy }: PlannedBackend, filePaths: readonly string[]): readonly string[] => {
  const text = JSON.stringify([entry, strategy]);
  return [...new Set(filePaths)].filter((path) => text.includes(JSON.stringify(path)));
};
