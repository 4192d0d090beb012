import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './command.ts';

export interface SimpleImage {
  readonly name: string;
  readonly entrypoint: readonly string[];
  /** Folder whose content is the whole file system of the image. */
  readonly root: string;
}

/** Writes an image of one layer in the archive form that `docker load` and containerd read; the same input gives the same bytes. */
export async function writeImageArchive(file: string, { name, entrypoint, root }: SimpleImage): Promise<void> {
  const folder = `${file}.parts`;
  await mkdir(folder, { recursive: true });
  const reproducible = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--mtime=@0'];
  await run('tar', [...reproducible, '--create', '--file', join(folder, 'layer.tar'), '--directory', root, '.']);
  const layer = createHash('sha256')
    .update(await readFile(join(folder, 'layer.tar')))
    .digest('hex');
  const config = {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: { Entrypoint: entrypoint },
    rootfs: { type: 'layers', diff_ids: [`sha256:${layer}`] },
  };
  await writeFile(join(folder, 'config.json'), JSON.stringify(config));
  await writeFile(
    join(folder, 'manifest.json'),
    JSON.stringify([{ Config: 'config.json', RepoTags: [name], Layers: ['layer.tar'] }]),
  );
  await run('tar', [
    ...reproducible,
    '--create',
    '--file',
    file,
    '--directory',
    folder,
    'manifest.json',
    'config.json',
    'layer.tar',
  ]);
  await rm(folder, { recursive: true });
}
