import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../command.ts';
import { withLock } from '../lock.ts';
import { scratchFolder } from '../scratch.ts';
import { imagesFolder } from './cache.ts';
import { REPOSITORY } from './packages.ts';

/** An image that is at hand as an archive; the name must change with the content. */
export interface Base {
  readonly name: string;
  readonly archive: string;
}

export interface Build {
  readonly dockerfile: string;
  /** The name the image carries in the archive. */
  readonly name: string;
  /** By build argument. */
  readonly bases: Readonly<Record<string, Base>>;
  readonly file: string;
}

/** Builds one of the repository's Dockerfiles without Docker, without a daemon and without a registry. Needs root. */
export const buildImage = (build: Build): Promise<void> =>
  // One store for all builds, so that the bases are unpacked once; it belongs to the tests alone.
  withLock(`buildah ${imagesFolder()}`, async () => {
    const scratch = await scratchFolder('buildah');
    try {
      await buildIn(join(imagesFolder(), 'store'), scratch.path, build);
    } finally {
      await scratch.remove();
    }
  });

async function buildIn(store: string, scratch: string, { dockerfile, name, bases, file }: Build): Promise<void> {
  const place = ['--storage-driver', 'vfs', '--root', store, '--runroot', join(scratch, 'run')];
  const options = { cwd: REPOSITORY, env: { ...process.env, TMPDIR: scratch } };
  const buildah = (...args: readonly string[]): Promise<string> => run('buildah', [...place, ...args], options);
  for (const base of Object.values(bases)) await load(buildah, base);
  const bud = [
    'bud',
    '--isolation',
    'chroot',
    '--network',
    'host',
    '--pull-never',
    '--file',
    dockerfile,
    '--tag',
    name,
  ];
  await buildah(
    ...bud,
    ...Object.entries(bases).flatMap(([argument, base]) => ['--build-arg', `${argument}=${base.name}`]),
    '.',
  );
  await buildah('push', name, `docker-archive:${join(scratch, 'image.tar')}:${name}`);
  await buildah('rmi', '--force', name);
  // The scratch folder may lie on another file system than the cache.
  await run('cp', [join(scratch, 'image.tar'), `${file}.new`]);
  await rename(`${file}.new`, file);
}

/** Brings the base into the store and takes earlier ones of that name out. */
async function load(buildah: (...args: readonly string[]) => Promise<string>, base: Base): Promise<void> {
  const repository = base.name.slice(0, base.name.lastIndexOf(':'));
  const there = (await buildah('images', '--format', '{{.Name}}:{{.Tag}}'))
    .split('\n')
    .filter((name) => name.startsWith(`${repository}:`));
  if (there.includes(base.name)) return;
  for (const old of there) await buildah('rmi', '--force', old);
  await buildah('pull', `docker-archive:${base.archive}`);
}
