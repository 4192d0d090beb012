import { createHash } from 'node:crypto';
import { access, mkdir, readdir, readFile, rm } from 'node:fs/promises';
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

/** Path of the archive of that name and key, built when it is not there yet; older ones of the name go. */
export async function cachedArchive(
  name: string,
  key: string,
  build: (file: string) => Promise<void>,
): Promise<string> {
  const folder = imagesFolder();
  const file = join(folder, `${name}-${key}.tar`);
  if (await exists(file)) return file;
  return withLock(`image ${folder} ${name}`, async () => {
    if (await exists(file)) return file;
    await mkdir(folder, { recursive: true });
    const started = performance.now();
    process.stderr.write(`building image ${name}\n`);
    await build(file);
    for (const old of await readdir(folder))
      if (isVersionOf(name, old) && join(folder, old) !== file) await rm(join(folder, old), { recursive: true });
    process.stderr.write(`built image ${name} in ${((performance.now() - started) / 1000).toFixed(0)} s\n`);
    return file;
  });
}

const isVersionOf = (name: string, file: string): boolean =>
  file.startsWith(`${name}-`) && /^[0-9a-f]{16}\.tar/.test(file.slice(name.length + 1));

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

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
