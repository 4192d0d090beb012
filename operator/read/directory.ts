import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type ManifestFile, type ManifestProblem, type Manifests, parseManifests } from './manifests.ts';

/** The file that maps backends and ports; not a manifest (decisions "Local mode"). */
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

const readFiles = (directory: string): { files: readonly ManifestFile[]; problems: readonly ManifestProblem[] } => {
  const files: ManifestFile[] = [];
  const problems: ManifestProblem[] = [];
  let total = 0;
  for (const name of readdirSync(directory).filter(isManifest).sort()) {
    const path = join(directory, name);
    const stat = statSync(path, { throwIfNoEntry: false });
    // Gone since it was listed (an editor renames when it saves), or a directory.
    if (stat === undefined || !stat.isFile()) continue;
    total += stat.size;
    if (stat.size > MAX_FILE_BYTES || total > MAX_TOTAL_BYTES) {
      const message = 'too large: at most 1 MiB a file and 16 MiB a directory; split it, or move it elsewhere';
      problems.push({ file: name, message });
    } else files.push({ name, text: readFileSync(path, 'utf8') });
  }
  return { files, problems };
};
