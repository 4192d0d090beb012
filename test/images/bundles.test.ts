import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { build } from 'esbuild';

const REPOSITORY = join(import.meta.dirname, '..', '..');

/** What the program of an image is made of, as the image's own build puts it together. */
async function inputsOf(entry: string): Promise<string[]> {
  const { metafile } = await build({
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
  });
  return Object.keys(metafile.inputs);
}

describe('the program of an image', () => {
  test('the runtime’s holds no Kubernetes client and nothing of the operator', async () => {
    const inputs = await inputsOf('runtime/main.ts');
    assert.ok(inputs.includes('runtime/pipeline.ts'));
    assert.deepEqual(
      inputs.filter((path) => /^(crds|operator|test)\/|node_modules\/@kubernetes\//.test(path)),
      [],
    );
  });

  test('the operator’s holds what it runs in local mode, and nothing of the tests', async () => {
    const inputs = await inputsOf('operator/main.ts');
    assert.ok(inputs.includes('runtime/pipeline.ts'));
    assert.deepEqual(
      inputs.filter((path) => path.startsWith('test/')),
      [],
    );
  });

  for (const [dockerfile, entry, folders] of [
    ['Dockerfile.vmcp', 'runtime/main.ts', ['runtime']],
    ['Dockerfile.operator', 'operator/main.ts', ['runtime', 'crds', 'operator']],
  ] as const) {
    test(`${dockerfile} copies exactly the folders its program comes from`, async () => {
      const text = await readFile(join(REPOSITORY, dockerfile), 'utf8');
      assert.deepEqual(
        [...text.matchAll(/^COPY ([a-z]+) \1$/gm)].map(([, folder]) => folder),
        folders,
      );
      const ours = (await inputsOf(entry)).filter((path) => !path.startsWith('node_modules/') && path.includes('/'));
      assert.deepEqual(new Set(ours.map((path) => path.split('/')[0])), new Set<string>(folders));
    });
  }
});
