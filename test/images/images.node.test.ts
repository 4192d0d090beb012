import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { run } from '../cluster/command.ts';
import { buildImages, skipWithoutNode, type Images } from '../cluster/index.ts';

const skip = await skipWithoutNode();

interface Manifest {
  readonly Config: string;
  readonly Layers: readonly string[];
}

interface Config {
  readonly config: {
    readonly User: string;
    readonly Entrypoint: readonly string[];
    readonly Cmd: readonly string[];
    readonly ExposedPorts: object;
    readonly Labels: Readonly<Record<string, string>>;
  };
}

const entry = async (archive: string, name: string): Promise<string> =>
  run('tar', ['--extract', '--to-stdout', '--file', archive, name]);

/** How the image starts, and the files that its own Dockerfile puts on top of the base. */
async function inspect(archive: string): Promise<{ config: Config['config']; files: string[] }> {
  const [manifest] = JSON.parse(await entry(archive, 'manifest.json')) as [Manifest];
  const { config } = JSON.parse(await entry(archive, manifest.Config)) as Config;
  const layer = manifest.Layers.at(-1) ?? '';
  const listing = await run('sh', [
    '-c',
    'tar --extract --to-stdout --file "$1" "$2" | tar --list',
    'sh',
    archive,
    layer,
  ]);
  return { config, files: listing.split('\n').filter((path) => path !== '' && !path.endsWith('/')) };
}

describe('an image built from its Dockerfile', { skip }, () => {
  let images: Images;
  before(async () => {
    images = await buildImages();
  });

  for (const [name, flags, program, ports] of [
    [
      'vmcp',
      ['--max-semi-space-size=8', '--no-allocation-site-pretenuring', '--no-parallel-scavenge'],
      '/app/vmcp.mjs',
      ['4483/tcp', '4484/tcp'],
    ],
    ['operator', ['--max-semi-space-size=8', '--heap-growing-percent=30'], '/app/vmcp-operator.mjs', ['8080/tcp']],
  ] as const) {
    test(`${name} runs one program as a numbered user that is not root`, async () => {
      const { config } = await inspect(images[name]);
      assert.equal(config.User, '65532:65532');
      assert.deepEqual(config.Entrypoint, ['/nodejs/bin/node', ...flags, program]);
      assert.deepEqual(Object.keys(config.ExposedPorts), ports);
    });

    test(`${name} adds to its base that program, its compile cache and the engines of policies and conditions, and nothing else`, async () => {
      const { files } = await inspect(images[name]);
      // The three are where a builder mounts its own during RUN.
      const own = files.filter((path) => !/^etc\/(hostname|hosts|resolv\.conf)$/.test(path));
      const cedar = /^app\/node_modules\/@cedar-policy\/cedar-wasm\/(package\.json|nodejs\/[^/]+)$/;
      const cel = /^app\/node_modules\/@bufbuild\/cel\/index\.js$/;
      const isEngine = (path: string): boolean => cedar.test(path) || cel.test(path);
      const isChunk = (path: string): boolean => name === 'vmcp' && /^app\/chunks\/[^/]+\.mjs$/.test(path);
      for (const engine of [cedar, cel]) assert.ok(own.some((path) => engine.test(path)));
      const rest = own.filter((path) => join('/', path) !== program && !isEngine(path) && !isChunk(path));
      assert.deepEqual(
        rest.filter((path) => !path.startsWith('app/compile-cache/')),
        [],
      );
      assert.notEqual(rest.length, 0);
    });

    test(`${name} says what it is`, async () => {
      const { config } = await inspect(images[name]);
      for (const label of ['title', 'description', 'licenses', 'version', 'revision'])
        assert.ok(config.Labels[`org.opencontainers.image.${label}`], label);
    });
  }
});
