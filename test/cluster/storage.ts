import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { filesIn, type ApiAccess } from './api-access.ts';
import { run } from './command.ts';
import { cached, keyOf } from './images/cache.ts';
import { cacheFolder } from './programs.ts';

/** What a control plane has from its first moment on. */
export interface Content {
  /** Whatever `put` depends on: another text makes another storage. */
  readonly ingredients: readonly string[];
  readonly put: (access: ApiAccess) => Promise<unknown>;
}

/** What a cluster makes for itself: roles, priority levels, namespaces. */
export const NOTHING: Content = { ingredients: [], put: () => Promise.resolve() };

/** Of a control plane that has come to its end in an orderly way: its objects, certificates and keys. */
const kept = (folder: string): readonly string[] => {
  const { etcdData, certificates, serviceAccountKey } = filesIn(folder);
  return [etcdData, certificates, serviceAccountKey];
};

/**
 * Path of a folder with the storage of a control plane that has the content. `make` runs such a control plane in a
 * folder, and ends it. It is done once per content, month (certificates of the API server are good for a year) and
 * version of the sources: to put the content takes more processor time than to start over a copy.
 */
export async function storageWith(
  { ingredients }: Content,
  programs: readonly string[],
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const sources = ['storage.ts', 'control-plane.ts', 'control-plane-arguments.ts', 'api-access.ts'].map((name) =>
    readFile(join(import.meta.dirname, name), 'utf8'),
  );
  const month = new Date().toISOString().slice(0, '2000-01'.length);
  const key = keyOf(month, ...programs, ...(await Promise.all(sources)), ...ingredients);
  const build = async (path: string): Promise<void> => {
    await rm(`${path}.new`, { recursive: true, force: true });
    await mkdir(`${path}.new`, { recursive: true });
    await make(`${path}.new`);
    await rename(`${path}.new`, path);
  };
  return cached('control-plane', key, build, join(cacheFolder(), 'storage'));
}

/** Brings the storage of one folder to another, which has none. */
export async function copyStorage(from: string, to: string): Promise<void> {
  const copies = kept(to);
  for (const [index, path] of kept(from).entries())
    // Most of a log of etcd is room for more.
    await run('cp', ['--recursive', '--sparse=always', path, copies[index] ?? to]);
}
