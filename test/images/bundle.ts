import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { build } from 'esbuild';
import { cached, keyOf, sourcesIn } from '../cluster/images/cache.ts';
import { imageSettings } from './image-settings.ts';

export const REPOSITORY = join(import.meta.dirname, '..', '..');

/**
 * The program of an image, as the image's own build puts it together; the runtime's has more than one file. A process
 * makes it once.
 */
export function bundleOf(entry: string): ReturnType<typeof newBundle> {
  const known = bundles.get(entry) ?? newBundle(entry);
  bundles.set(entry, known);
  return known;
}

const bundles = new Map<string, ReturnType<typeof newBundle>>();

function newBundle(entry: string) {
  return build({
    absWorkingDir: REPOSITORY,
    entryPoints: [{ in: entry, out: PROGRAM }],
    bundle: true,
    splitting: entry.startsWith('runtime/'),
    platform: 'node',
    target: 'node24',
    format: 'esm',
    metafile: true,
    write: false,
    logLevel: 'silent',
    outdir: OUTPUT,
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunks/[name]-[hash]',
    banner: {
      js: "import { createRequire as bundleRequire } from 'node:module'; const require = bundleRequire(import.meta.url);",
    },
  });
}

const PROGRAM = 'program';
const OUTPUT = 'dist';

/** Writes the program into `folder` and returns the path of the file that is run. */
export async function writeProgram(entry: string, folder: string): Promise<string> {
  const { outputFiles } = await bundleOf(entry);
  for (const { path, contents } of outputFiles) {
    const file = join(folder, relative(join(REPOSITORY, OUTPUT), path));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, contents);
  }
  return join(folder, `${PROGRAM}.mjs`);
}

/**
 * Path of the program where it finds its packages, made when a source has changed. It starts in less than half the time
 * that the sources need: there is one file to read, and its compiled code is kept (`NODE_COMPILE_CACHE`), since the path
 * stays the same.
 */
export async function builtProgram(entry: keyof typeof WARMED_BY): Promise<string> {
  const ingredients = ['package-lock.json', 'test/images/bundle.ts', 'Dockerfile.vmcp'].map((file) =>
    readFile(join(REPOSITORY, file), 'utf8'),
  );
  const sources = await sourcesIn(REPOSITORY, ['crds', 'operator', 'runtime']);
  const key = keyOf(...(await Promise.all(ingredients)), ...sources);
  const write = async (folder: string): Promise<void> => {
    await rm(`${folder}.new`, { recursive: true, force: true });
    await writeProgram(entry, `${folder}.new`);
    await rename(`${folder}.new`, folder);
    const { flags } = await imageSettings('Dockerfile.vmcp');
    // Without flags and with those of the image: each has compiled code of its own.
    for (const each of [[], flags]) await warm([...each, join(folder, `${PROGRAM}.mjs`), ...WARMED_BY[entry]]);
  };
  const folder = await cached(dirname(entry), key, write, join(REPOSITORY, 'node_modules/.cache/programs'));
  return join(folder, `${PROGRAM}.mjs`);
}

/** What is run once, so that its code is kept compiled: that of processes that are killed is not. */
const WARMED_BY = {
  'runtime/main.ts': ['serve', '-c', join(REPOSITORY, 'test/images/warm.yaml'), '--port=0', '--management-port=0'],
  'operator/main.ts': ['version'],
} as const;

/** Runs a program until it says something, and stops it. */
async function warm(args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  child.stdout.once('data', () => child.kill('SIGTERM'));
  await exited;
}
