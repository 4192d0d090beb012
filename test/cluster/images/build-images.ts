import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { scratchFolder } from '../scratch.ts';
import { buildImage, type Base } from './buildah.ts';
import { cachedArchive, keyOf, sourcesIn } from './cache.ts';
import { writeImageArchive, type ImageConfig } from './image-archive.ts';
import { copyPackages, REPOSITORY, versionOf } from './packages.ts';
import { fillBuilderRoot, fillNodeRoot, fillRunnerRoot, nodeVersion } from './roots.ts';

/** Archives of the images, which every node has. */
export interface Images {
  readonly vmcp: string;
  readonly operator: string;
  /** The two servers of `examples/quickstart/backends`, under the public names that the manifests there use. */
  readonly everything: string;
  readonly playwright: string;
}

export const VMCP_IMAGE = 'localhost/vmcp/vmcp:test';
export const OPERATOR_IMAGE = 'localhost/vmcp/vmcp-operator:test';

/**
 * Builds what is not in the cache: our two images from their Dockerfiles, the others from what `npm ci` brought. Needs
 * root.
 */
export async function buildImages(): Promise<Images> {
  const bases = { NODE_IMAGE: await builderBase(), BASE_IMAGE: await runnerBase() };
  return {
    vmcp: await ourImage('vmcp', VMCP_IMAGE, bases, ['runtime']),
    operator: await ourImage('vmcp-operator', OPERATOR_IMAGE, bases, ['crds', 'operator', 'runtime']),
    everything: await everythingImage(),
    playwright: await playwrightImage(),
  };
}

/** Changes with the packages and with how the file systems are put together. */
async function baseKey(): Promise<string> {
  const sources = ['roots.ts', 'packages.ts', 'image-archive.ts', 'build-images.ts'].map((name) =>
    readFile(join(import.meta.dirname, name), 'utf8'),
  );
  return keyOf(
    await nodeVersion(),
    await readFile(join(REPOSITORY, 'package-lock.json'), 'utf8'),
    ...(await Promise.all(sources)),
  );
}

interface OneLayer {
  readonly name: string;
  readonly tag: string;
  readonly fill: (root: string) => Promise<void>;
  readonly config: ImageConfig;
}

const oneLayer = async ({ name, tag, fill, config }: OneLayer): Promise<string> =>
  cachedArchive(name, await baseKey(), async (file) => {
    const scratch = await scratchFolder(name);
    try {
      // A fresh temporary folder is closed to others, and would be so as the root of the image.
      await chmod(scratch.path, 0o755);
      await fill(scratch.path);
      await writeImageArchive({ file, name: tag, root: scratch.path, config });
    } finally {
      await scratch.remove();
    }
  });

const NODE_PATH = 'PATH=/usr/local/bin:/usr/bin:/bin';

const base = async (name: string, fill: OneLayer['fill'], config: ImageConfig): Promise<Base> => {
  const tag = `localhost/vmcp-test/${name}:${await baseKey()}`;
  return { name: tag, archive: await oneLayer({ name, tag, fill, config }) };
};

const builderBase = (): Promise<Base> => base('builder', fillBuilderRoot, { Env: [NODE_PATH] });

const runnerBase = (): Promise<Base> =>
  base('runner', fillRunnerRoot, { Entrypoint: ['/nodejs/bin/node'], User: '65532', WorkingDir: '/home/nonroot' });

/** `node:…-slim` whose working folder has the package: npx finds it there, where the real one asks the registry. */
const everythingImage = async (): Promise<string> =>
  oneLayer({
    name: 'everything',
    tag: `docker.io/library/node:${await nodeVersion()}-bookworm-slim`,
    fill: async (root) => {
      await fillNodeRoot(root);
      await copyPackages(['@modelcontextprotocol/server-everything'], root);
    },
    config: { Env: [NODE_PATH], Cmd: ['node'] },
  });

/** Laid out and started as Microsoft's image is, without the browsers: listing tools needs none. */
const playwrightImage = async (): Promise<string> =>
  oneLayer({
    name: 'playwright',
    tag: `mcr.microsoft.com/playwright/mcp:v${await versionOf('@playwright/mcp')}`,
    fill: async (root) => {
      await fillNodeRoot(root);
      await copyPackages(['@playwright/mcp'], join(root, 'app'));
    },
    config: {
      Env: [NODE_PATH, 'NODE_ENV=production'],
      User: 'node',
      WorkingDir: '/app',
      Entrypoint: [
        'node',
        'node_modules/@playwright/mcp/cli.js',
        '--headless',
        '--browser',
        'chromium',
        '--no-sandbox',
      ],
    },
  });

async function ourImage(
  name: string,
  tag: string,
  bases: Record<string, Base>,
  folders: readonly string[],
): Promise<string> {
  const dockerfile = `Dockerfile.${name.replace('vmcp-', '')}`;
  const key = keyOf(
    await readFile(join(REPOSITORY, dockerfile), 'utf8'),
    await readFile(join(import.meta.dirname, 'buildah.ts'), 'utf8'),
    await readFile(join(REPOSITORY, 'package.json'), 'utf8'),
    ...Object.values(bases).map((base) => base.name),
    ...(await sourcesIn(REPOSITORY, folders)),
  );
  return cachedArchive(name, key, (file) => buildImage({ dockerfile, name: tag, bases, file }));
}
