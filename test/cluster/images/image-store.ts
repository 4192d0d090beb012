import { chmod, copyFile, cp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../command.ts';
import { scratchFolder } from '../scratch.ts';
import { buildImages } from './build-images.ts';
import { cached, cachedArchive, keyOf } from './cache.ts';
import { writeImageArchive } from './image-archive.ts';

/** The container that holds the namespaces of each pod. */
export const PAUSE_IMAGE = 'localhost/vmcp-test/pause:1';

/** Of the storage, what holds the images: written once, and never changed. */
const BLOBS = 'io.containerd.content.v1.content/blobs';
const SNAPSHOTS = 'io.containerd.snapshotter.v1.overlayfs/snapshots';

interface Programs {
  readonly containerd: string;
  readonly ctr: string;
  readonly pause: string;
}

/**
 * Path of the storage of a containerd that has all images of the tests, unpacked. To import them takes longer than to
 * start a node, so it is done anew only when one of them has changed. The storage before goes: call it while no node
 * runs.
 */
export async function imageStore(programs: Programs): Promise<string> {
  const archives = [...Object.values(await buildImages()), await pauseImage(programs.pause)];
  const sources = ['image-store.ts', 'fill-store.sh'].map((name) => readFile(join(import.meta.dirname, name), 'utf8'));
  const key = keyOf(programs.containerd, ...archives, ...(await Promise.all(sources)));
  return cached('node-images', key, (folder) => fill(folder, programs, archives));
}

const pauseImage = (program: string): Promise<string> =>
  cachedArchive('pause', keyOf(program), async (file) => {
    const scratch = await scratchFolder('pause');
    try {
      // A fresh temporary folder is closed to others, and would be so as the root of the image.
      await chmod(scratch.path, 0o755);
      await copyFile(program, join(scratch.path, 'pause'));
      await writeImageArchive({ file, name: PAUSE_IMAGE, root: scratch.path, config: { Entrypoint: ['/pause'] } });
    } finally {
      await scratch.remove();
    }
  });

async function fill(folder: string, { containerd, ctr }: Programs, archives: readonly string[]): Promise<void> {
  const scratch = await scratchFolder('image-store');
  const unfinished = `${folder}.new`;
  try {
    await rm(unfinished, { recursive: true, force: true });
    const address = join(scratch.path, 'containerd.sock');
    const settings = join(scratch.path, 'containerd.toml');
    await writeFile(settings, settingsOf({ root: unfinished, state: join(scratch.path, 'state'), address }));
    const script = join(import.meta.dirname, 'fill-store.sh');
    // Ends with this process, however that ends.
    const alone = ['--pdeathsig', 'KILL', 'unshare', '--mount', '--pid', '--fork', '--kill-child'];
    await run('setpriv', [...alone, 'sh', script, containerd, ctr, settings, address, ...archives]);
    await rename(unfinished, folder);
  } finally {
    await scratch.remove();
  }
}

/** Without what runs containers. */
const settingsOf = (paths: { readonly root: string; readonly state: string; readonly address: string }): string =>
  `version = 3
root = "${paths.root}"
state = "${paths.state}"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images", "io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri", "io.containerd.snapshotter.v1.erofs", "io.containerd.snapshotter.v1.blockfile"]

[grpc]
  address = "${paths.address}"
`;

/**
 * Makes the storage `root` of a node's containerd from the store: a copy of the little that containerd writes to, and
 * the images mounted read-only by `mount`, a command of the node, so that no node can change them for the next.
 */
export async function provide(
  store: string,
  root: string,
  mount: (options: readonly string[]) => Promise<unknown>,
): Promise<void> {
  const snapshots = (await readdir(join(store, SNAPSHOTS))).map((name) => join(SNAPSHOTS, name));
  const mounted = [BLOBS, ...snapshots];
  const isWithin = (path: string): boolean => mounted.some((each) => path.startsWith(join(store, each, '/')));
  await cp(store, root, { recursive: true, filter: (path) => !isWithin(path) });
  for (const each of mounted) await mount(['--options', 'bind,ro', join(store, each), join(root, each)]);
}
