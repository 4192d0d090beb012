import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { build } from 'esbuild';

export const REPOSITORY = join(import.meta.dirname, '..', '..');

/** The program of an image, as the image's own build puts it together; the runtime's has more than one file. */
export function bundleOf(entry: string) {
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
