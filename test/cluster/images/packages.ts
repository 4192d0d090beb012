import { access, cp, mkdir, readFile, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export const REPOSITORY = join(import.meta.dirname, '..', '..', '..');

interface LockedPackage {
  readonly version?: string;
  readonly bin?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

type LockedPackages = Readonly<Record<string, LockedPackage>>;

async function lockedPackages(): Promise<LockedPackages> {
  const lock = JSON.parse(await readFile(join(REPOSITORY, 'package-lock.json'), 'utf8')) as {
    packages: LockedPackages;
  };
  return lock.packages;
}

/** The installed version of a package of the lock file. */
export async function versionOf(name: string): Promise<string> {
  const version = (await lockedPackages())[`node_modules/${name}`]?.version;
  if (version === undefined) throw new Error(`${name} is not in package-lock.json`);
  return version;
}

/** Copies the packages and all they need from `node_modules` into `target`, laid out as npm did. */
export async function copyPackages(names: readonly string[], target: string): Promise<void> {
  const packages = await lockedPackages();
  const folders = closure(packages, names);
  for (const folder of folders) {
    const source = join(REPOSITORY, folder);
    // Packages for other platforms are in the lock file and not on the disk.
    if (!(await exists(source))) continue;
    await mkdir(dirname(join(target, folder)), { recursive: true });
    // Nested packages come with their own line of the lock file, or are not needed.
    await cp(source, join(target, folder), { recursive: true, filter: (path) => path === source || isNeeded(path) });
  }
  const links = join(target, 'node_modules', '.bin');
  await mkdir(links, { recursive: true });
  for (const name of names) {
    for (const [program, path] of Object.entries(packages[`node_modules/${name}`]?.bin ?? {}))
      await symlink(join('..', name, path), join(links, program));
  }
}

/** Types, source maps and documents are half of all files, and no program reads them. */
const isNeeded = (path: string): boolean => !/\/node_modules$|\.(ts|cts|mts|map|md)$/.test(path);

/** Paths in the lock file of the named packages and of everything that they reach. */
function closure(packages: LockedPackages, names: readonly string[]): string[] {
  const seen = new Set<string>();
  const visit = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    const { dependencies, optionalDependencies } = packages[path] ?? {};
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const found = resolve(packages, path, name);
      if (found !== undefined) visit(found);
    }
  };
  for (const name of names) visit(`node_modules/${name}`);
  return [...seen].sort();
}

/** Node's own rule: the nearest `node_modules` on the way up that has it. */
function resolve(packages: LockedPackages, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const candidate = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (packages[candidate] !== undefined) return candidate;
    if (folder === '') return undefined;
  }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
