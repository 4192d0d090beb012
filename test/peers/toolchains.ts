import { createHash } from 'node:crypto';
import { access, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../cluster/command.ts';
import { withLock } from '../cluster/lock.ts';
import { cacheFolder } from '../cluster/programs.ts';

/**
 * What other languages' SDKs, and the reference implementations of CEL and of templates, need: an environment of Python
 * packages, or a program built from the sources beside this file. Made once for each content of the locked versions and
 * the sources, and kept with the other programs of the tests.
 */
interface Recipe {
  /** The files that decide what is made, inside the folder of the language. */
  readonly sources: (folder: string) => Promise<readonly string[]>;
  readonly folder: string;
  /** Why it cannot be made here. */
  readonly missing: () => Promise<string | undefined>;
  readonly make: (target: string, folder: string) => Promise<void>;
}

const OLDEST_PYTHON = 10;

const python = (lock: string): Recipe => ({
  folder: 'python',
  sources: async () => [lock],
  missing: async () => {
    const minor = /^Python 3\.(\d+)/.exec(await run('python3', ['--version']).catch(() => ''))?.[1];
    const hasVenv = await run('python3', ['-c', 'import venv, ensurepip']).catch(() => undefined);
    if (Number(minor ?? 0) >= OLDEST_PYTHON && hasVenv !== undefined) return undefined;
    return `no python3 with venv, of at least 3.${OLDEST_PYTHON}`;
  },
  make: async (target, folder) => {
    await run('python3', ['-m', 'venv', target]);
    const quietly = ['--quiet', '--disable-pip-version-check', '--no-deps', '--only-binary', ':all:'];
    await run(join(target, 'bin', 'python'), ['-m', 'pip', 'install', ...quietly, '-r', join(folder, lock)]);
  },
});

const filesOf = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((file) => !file.startsWith('target/'));

/** The program `peer` of a Go module. */
const goProgram = (folder: string): Recipe => ({
  folder,
  sources: filesOf,
  missing: async () => ((await run('go', ['version']).catch(() => undefined)) === undefined ? 'no go' : undefined),
  make: async (target, sources) => {
    const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '' };
    await run('go', ['build', '-trimpath', '-buildvcs=false', '-o', join(target, 'peer'), '.'], { cwd: sources, env });
  },
});

const recipes = {
  'python-v1': python('v1.txt'),
  'python-v2': python('v2.txt'),
  go: goProgram('go'),
  cel: goProgram('cel'),
  'go-templates': goProgram('go-templates'),
  rust: {
    folder: 'rust',
    sources: filesOf,
    missing: async () =>
      (await run('cargo', ['--version']).catch(() => undefined)) === undefined ? 'no cargo' : undefined,
    make: async (target, folder) => {
      const built = join(target, 'target');
      await run('cargo', ['build', '--locked', '--quiet', '--target-dir', built], { cwd: folder });
      await rename(join(built, 'debug', 'peer'), join(target, 'peer'));
      await rm(built, { recursive: true });
    },
  },
} as const satisfies Record<string, Recipe>;

export type Toolchain = keyof typeof recipes;
export const TOOLCHAINS = Object.keys(recipes) as Toolchain[];

export type Made = { readonly ok: true; readonly folder: string } | { readonly ok: false; readonly why: string };

/**
 * The folder of what the toolchain makes, made now if the cache lacks it; says so on `progress`. Throws when a
 * toolchain that is there fails.
 */
export async function ensureMade(name: Toolchain, progress: (line: string) => void): Promise<Made> {
  const recipe: Recipe = recipes[name];
  const folder = join(import.meta.dirname, recipe.folder);
  const target = join(cacheFolder(), `peers-${name}-${await keyOf(recipe, folder)}`);
  const done = join(target, 'made');
  if (await exists(done)) return { ok: true, folder: target };
  const why = await recipe.missing();
  if (why !== undefined) return { ok: false, why };
  return withLock(`peers ${name} ${cacheFolder()}`, async () => {
    if (await exists(done)) return { ok: true, folder: target };
    progress(`making the peers of ${name} (once; kept in ${cacheFolder()})`);
    await rm(target, { recursive: true, force: true });
    await mkdir(target, { recursive: true });
    await recipe.make(target, folder);
    await writeFile(done, '');
    return { ok: true, folder: target };
  });
}

async function keyOf(recipe: Recipe, folder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const file of [...(await recipe.sources(folder))].sort())
    hash.update(file).update(await readFile(join(folder, file)));
  return hash.digest('hex').slice(0, 12);
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
