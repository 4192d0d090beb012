import { join } from 'node:path';
import { build } from 'esbuild';

export const REPOSITORY = join(import.meta.dirname, '..', '..');

/** The program of an image, as the image's own build puts it together. */
export function bundleOf(entry: string) {
  return build({
    absWorkingDir: REPOSITORY,
    entryPoints: [entry],
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    metafile: true,
    write: false,
    logLevel: 'silent',
    outfile: 'dist/out.mjs',
    banner: {
      js: "import { createRequire as bundleRequire } from 'node:module'; const require = bundleRequire(import.meta.url);",
    },
  });
}
