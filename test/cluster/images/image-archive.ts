import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../command.ts';

/** How a container of the image starts, in the words of the image format. */
export interface ImageConfig {
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Env?: readonly string[];
  readonly User?: string;
  readonly WorkingDir?: string;
}

export interface ImageArchive {
  readonly file: string;
  readonly name: string;
  /** Folder whose content is the whole file system of the image; owned by root in there. */
  readonly root: string;
  readonly config: ImageConfig;
}

const REPRODUCIBLE = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--mtime=@0'];

/**
 * Writes an image of one layer in the form that `docker load`, containerd and buildah read; the same input gives the
 * same bytes.
 */
export async function writeImageArchive({ file, name, root, config }: ImageArchive): Promise<void> {
  const parts = `${file}.parts`;
  await mkdir(parts, { recursive: true });
  await pack(join(parts, 'layer.tar'), root, ['.']);
  const layer = await readFile(join(parts, 'layer.tar'));
  const digest = createHash('sha256').update(layer).digest('hex');
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const image = { architecture, os: 'linux', config, rootfs: { type: 'layers', diff_ids: [`sha256:${digest}`] } };
  await writeFile(join(parts, 'config.json'), JSON.stringify(image));
  await writeFile(
    join(parts, 'manifest.json'),
    JSON.stringify([{ Config: 'config.json', RepoTags: [name], Layers: ['layer.tar'] }]),
  );
  await pack(join(parts, 'image.tar'), parts, ['manifest.json', 'config.json', 'layer.tar']);
  await rename(join(parts, 'image.tar'), file);
  await rm(parts, { recursive: true });
}

const pack = (archive: string, folder: string, names: readonly string[]): Promise<string> =>
  run('tar', [...REPRODUCIBLE, '--create', '--file', archive, '--directory', folder, ...names]);
