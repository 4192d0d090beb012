import { nodeSupport } from './cluster/index.ts';
import { isThere, run } from './cluster/command.ts';
import { ALL_PROGRAMS, CONTROL_PLANE_PROGRAMS, ensurePrograms } from './cluster/programs.ts';
import { cniFolder } from './cluster/node/support.ts';
import { ensureMade, TOOLCHAINS } from './peers/toolchains.ts';

/**
 * What `npm test` runs first: the Debian packages, the Kubernetes programs and the peers in other
 * languages that the tests need. All of it stays, so
 * that the next run finds everything in place and says nothing.
 */

/** What the tests take from the system, and how to see that it is there. */
const DEBIAN_PACKAGES: Readonly<Record<string, () => Promise<boolean>>> = {
  buildah: () => isThere('buildah'),
  chromium: () => isThere('chromium'),
  'containernetworking-plugins': async () => (await cniFolder()) !== undefined,
  iproute2: () => isThere('ip', ['-V']),
  iptables: () => isThere('iptables'),
  openssl: () => isThere('openssl', ['version']),
  'redis-server': () => isThere('redis-server'),
  runc: () => isThere('runc'),
};

const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function installPackages(): Promise<void> {
  const missing: string[] = [];
  for (const [name, isInstalled] of Object.entries(DEBIAN_PACKAGES)) if (!(await isInstalled())) missing.push(name);
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || !(await isThere('apt-get'))) {
    say(`missing: ${missing.join(' ')}; tests that need them are skipped (as root, on Debian, npm test installs them)`);
    return;
  }
  say(`installing ${missing.join(' ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await run('apt-get', ['update'], { env });
  await run('apt-get', ['install', '--yes', '--no-install-recommends', ...missing], { env });
}

async function buildPrograms(): Promise<void> {
  const support = await nodeSupport();
  if (!support.ok) say(`the tests on a one-node cluster are skipped: ${support.why}`);
  await ensurePrograms(support.ok ? ALL_PROGRAMS : [...CONTROL_PLANE_PROGRAMS, 'helm'], say);
}

async function makePeers(): Promise<void> {
  for (const name of TOOLCHAINS) {
    const made = await ensureMade(name, say);
    if (!made.ok) say(`the tests with peers of ${name} are skipped: ${made.why}`);
  }
}

if (import.meta.main) {
  await installPackages();
  await buildPrograms();
  await makePeers();
}
