import { type PlannedBackend, whyDown } from './backends.ts';

/** Files that the config names for a backend, by its name. */
export type BackendFiles = Readonly<Record<string, readonly string[]>>;

/** Of one that is withheld, which the config does not name, those that were `known` before. */
export const backendFiles = (
  backends: readonly PlannedBackend[],
  filePaths: readonly string[],
  known: BackendFiles = {},
): BackendFiles =>
  Object.fromEntries(
    backends.flatMap((backend) => {
      const files = whyDown(backend) === undefined ? namedFor(backend, filePaths) : (known[backend.name] ?? []);
      return files.length === 0 ? [] : [[backend.name, files] as const];
    }),
  );

const namedFor = ({ entry, strategy }: PlannedBackend, filePaths: readonly string[]): readonly string[] => {
  const text = JSON.stringify([entry, strategy]);
  return [...new Set(filePaths)].filter((path) => text.includes(JSON.stringify(path)));
};
