import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { withLock } from '../lock.ts';
import { cacheFolder } from '../programs.ts';

/** The name of what a build makes follows from everything it is made of. */
export const keyOf = (...ingredients: readonly string[]): string => {
  const hash = createHash('sha256');
  for (const ingredient of ingredients) hash.update(`${ingredient.length}:`).update(ingredient);
  return hash.digest('hex').slice(0, 16);
};

export const imagesFolder = (): string => join(cacheFolder(), 'images');

/** Another copy of the repository, whose sources differ, may use an older build meanwhile. */
const KEPT_MS = 3_600_000;

/** Path of the archive of that name and key, built when it is not there yet. */
export const cachedArchive = (name: string, key: string, build: (file: string) => Promise<void>): Promise<string> =>
  cached(name, `${key}.tar`, build);

/**
 * The same of a file or folder, called by its name and `version`, which begins with a key. Others of that name go when
 * they have not been asked for lately.
 */
export async function cached(
  name: string,
  version: string,
  build: (path: string) => Promise<void>,
  folder = imagesFolder(),
): Promise<string> {
  const path = join(folder, `${name}-${version}`);
  if (await isThere(path)) return path;
  return withLock(`image ${folder} ${name}`, async () => {
    if (await isThere(path)) return path;
    await mkdir(folder, { recursive: true });
    const started = performance.now();
    process.stderr.write(`building ${name}\n`);
    await build(path);
    for (const each of await readdir(folder))
      if (isVersionOf(name, each) && (await isOld(join(folder, each))))
        await rm(join(folder, each), { recursive: true });
    process.stderr.write(`built ${name} in ${((performance.now() - started) / 1000).toFixed(0)} s\n`);
    return path;
  });
}

const isVersionOf = (name: string, file: string): boolean =>
  file.startsWith(`${name}-`) && /^[0-9a-f]{16}(\.|$)/.test(file.slice(name.length + 1));

/** The text of every file below the folders, with its path: what a build copies from there. */
export async function sourcesIn(repository: string, folders: readonly string[]): Promise<string[]> {
  const sources: string[] = [];
  for (const folder of folders) {
    for (const path of (await readdir(join(repository, folder), { recursive: true })).sort()) {
      if (path.endsWith('.ts'))
        sources.push(join(folder, path), await readFile(join(repository, folder, path), 'utf8'));
    }
  }
  return sources;
}

/** Notes, as the time of its last change, that it is in use. */
const isThere = (path: string): Promise<boolean> =>
  utimes(path, new Date(), new Date()).then(
    () => true,
    () => false,
  );

const isOld = async (path: string): Promise<boolean> => Date.now() - (await stat(path)).mtimeMs > KEPT_MS;
