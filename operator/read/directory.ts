import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type ManifestFile, type ManifestProblem, type Manifests, parseManifests } from './manifests.ts';

/** The file that maps backends and ports; not a manifest (docs/decisions.md "Local mode"). */
export const LOCAL_FILE = 'local.yaml';

const MAX_FILE_BYTES = 1024 * 1024;
const MAX_TOTAL_BYTES = 16 * 1024 * 1024;

/**
 * The manifests of one directory (not of those below it, as `kubectl apply -f` reads it): `*.yaml` and `*.yml`, several
 * documents each; names that begin with a dot and `local.yaml` are none. At most 1 MiB a file and 16 MiB in all.
 */
export const readManifests = (directory: string): Manifests => {
  const read = readFiles(directory);
  const { objects, problems } = parseManifests(read.files);
  return { objects, problems: [...read.problems, ...problems] };
};

/** Whether a change of this file may change what the manifests say. */
export const isManifest = (name: string): boolean =>
  /\.ya?ml$/.test(name) && !name.startsWith('.') && name !== LOCAL_FILE;

interface Read {
  readonly files: readonly ManifestFile[];
  readonly problems: readonly ManifestProblem[];
}

const readFiles = (directory: string): Read => {
  const files: ManifestFile[] = [];
  const problems: ManifestProblem[] = [];
  const listed = attempt(directory, () => readdirSync(directory));
  if ('problem' in listed) return { files, problems: [listed.problem] };
  let total = 0;
  for (const name of (listed.value ?? []).filter(isManifest).sort()) {
    const read = attempt(name, () => {
      const bytes = sizeOf(join(directory, name));
      total += bytes ?? 0;
      if (bytes === undefined || bytes > MAX_FILE_BYTES || total > MAX_TOTAL_BYTES) return { bytes };
      return { bytes, text: readFileSync(join(directory, name), 'utf8') };
    });
    if ('problem' in read) problems.push(read.problem);
    else if (read.value?.text === '') problems.push({ file: name, message: EMPTY });
    else if (read.value?.text !== undefined) files.push({ name, text: read.value.text });
    else if (read.value?.bytes !== undefined) problems.push({ file: name, message: TOO_LARGE });
  }
  return { files, problems };
};

/** Editors empty a file before they write it: its earlier content is not removed. */
const EMPTY = 'is empty; write manifests into it, or remove it';
const TOO_LARGE = 'too large: at most 1 MiB a file and 16 MiB a directory; split it, or move it elsewhere';

/** Undefined for what is no file. */
const sizeOf = (path: string): number | undefined => {
  const stat = statSync(path);
  return stat.isFile() ? stat.size : undefined;
};

type Attempt<T> = { readonly value: T | undefined } | { readonly problem: ManifestProblem };

/** No value: gone since it was listed (an editor renames when it saves). */
const attempt = <T>(file: string, read: () => T): Attempt<T> => {
  try {
    return { value: read() };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && isManifest(file)) return { value: undefined };
    return { problem: { file, message: `cannot be read: ${message}; make it readable, or move it elsewhere` } };
  }
};
