import { chmod, copyFile, cp, mkdir, readFile, realpath, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { run } from '../command.ts';
import { copyPackages, REPOSITORY, versionOf } from './packages.ts';

const NODE_PACKAGE = `node-linux-${process.arch}`;
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const USERS = [
  'root:x:0:0:root:/root:/sbin/nologin',
  'node:x:1000:1000::/home/node:/bin/sh',
  'nonroot:x:65532:65532::/home/nonroot:/sbin/nologin',
];

/** What the file systems below hold; with the lock file it decides whether they are built again. */
export const nodeVersion = (): Promise<string> => versionOf(NODE_PACKAGE);

/**
 * Stands for `gcr.io/distroless/nodejs24-debian12`: Node at the same place, its libraries, certificates, users, no
 * shell.
 */
export async function fillRunnerRoot(root: string): Promise<void> {
  await addNode(root, '/nodejs/bin/node');
}

/** Stands for `node:24-bookworm-slim`: Node, npm and a shell. */
export async function fillNodeRoot(root: string): Promise<void> {
  await addNodeAndShell(root);
  await addNpm(root);
}

/** The same without npm, and with the packages that a build of our images needs: it asks no registry. */
export async function fillBuilderRoot(root: string): Promise<void> {
  await addNodeAndShell(root);
  const manifest = JSON.parse(await readFile(join(REPOSITORY, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  await copyPackages([...Object.keys(manifest.dependencies), 'esbuild'], join(root, 'build'));
}

async function addNodeAndShell(root: string): Promise<void> {
  await addNode(root, '/usr/local/bin/node');
  for (const program of ['/bin/sh', '/bin/cp', '/bin/mkdir', '/usr/bin/env']) await addProgram(root, program, program);
}

async function addNode(root: string, at: string): Promise<void> {
  await addProgram(root, join(REPOSITORY, 'node_modules', NODE_PACKAGE, 'bin', 'node'), at);
  await addFile(root, CERTIFICATES, CERTIFICATES);
  await mkdir(join(root, 'etc'), { recursive: true });
  await writeFile(join(root, 'etc/passwd'), `${USERS.join('\n')}\n`);
  await writeFile(join(root, 'etc/group'), 'root:x:0:\nnode:x:1000:\nnonroot:x:65532:\n');
  await writeFile(join(root, 'etc/nsswitch.conf'), 'hosts: files dns\n');
  for (const folder of ['home/node', 'home/nonroot', 'tmp']) await mkdir(join(root, folder), { recursive: true });
  await chmod(join(root, 'tmp'), 0o1777);
}

/** The npm of this machine; npx of the image takes from it. */
async function addNpm(root: string): Promise<void> {
  await cp(await npmFolder(), join(root, 'usr/local/lib/node_modules/npm'), { recursive: true, dereference: true });
  for (const name of ['npm', 'npx'])
    await symlink(`../lib/node_modules/npm/bin/${name}-cli.js`, join(root, 'usr/local/bin', name));
}

/** `npm` on the path is a link to `<folder>/bin/npm-cli.js`. */
async function npmFolder(): Promise<string> {
  for (const folder of (process.env['PATH'] ?? '').split(':')) {
    const program = await realpath(join(folder, 'npm')).catch(() => undefined);
    if (program !== undefined) return dirname(dirname(program));
  }
  throw new Error('npm is not on the path');
}

/** A program and the libraries that the loader will look for. */
async function addProgram(root: string, program: string, at: string): Promise<void> {
  await addFile(root, program, at);
  const libraries = await run('ldd', [program]);
  for (const [, path] of libraries.matchAll(/(\/\S+) \(0x/g)) if (path !== undefined) await addFile(root, path, path);
}

async function addFile(root: string, source: string, at: string): Promise<void> {
  await mkdir(dirname(join(root, at)), { recursive: true });
  await copyFile(source, join(root, at));
}
