import { createHash } from 'node:crypto';
import { access, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { run } from './command.ts';
import { withLock } from './lock.ts';
import { goToolchain } from './toolchain.ts';

/**
 * How the programs of one Go module are built. `ldflags` carry the version: kubectl and the API server misbehave
 * without theirs.
 */
interface GoModule {
  readonly ldflags: string;
  readonly tags: string;
}

const KUBERNETES_VERSION = '1.36.3';
const CONTAINERD_VERSION = '2.2.9';
const STRIPPED = '-s -w';

const modules = {
  kubernetes: { ldflags: `${STRIPPED} ${kubernetesVersionFlags(KUBERNETES_VERSION)}`, tags: '' },
  etcd: { ldflags: STRIPPED, tags: '' },
  containerd: {
    ldflags: `${STRIPPED} -X github.com/containerd/containerd/v2/version.Version=v${CONTAINERD_VERSION}`,
    tags: 'no_btrfs no_devmapper no_zfs',
  },
  dns: { ldflags: STRIPPED, tags: '' },
  helm: { ldflags: STRIPPED, tags: '' },
  pause: { ldflags: STRIPPED, tags: '' },
} as const satisfies Record<string, GoModule>;

/** etcd is pinned by the Kubernetes module, which links the same libraries; only its flags differ. */
const folderOf = (module: keyof typeof modules): string =>
  join(import.meta.dirname, 'go', module === 'etcd' ? 'kubernetes' : module);

const programs = {
  etcd: { module: 'etcd', package: 'go.etcd.io/etcd/server/v3' },
  'kube-apiserver': { module: 'kubernetes', package: 'k8s.io/kubernetes/cmd/kube-apiserver' },
  'kube-controller-manager': { module: 'kubernetes', package: 'k8s.io/kubernetes/cmd/kube-controller-manager' },
  kubectl: { module: 'kubernetes', package: 'k8s.io/kubernetes/cmd/kubectl' },
  'kube-scheduler': { module: 'kubernetes', package: 'k8s.io/kubernetes/cmd/kube-scheduler' },
  kubelet: { module: 'kubernetes', package: 'k8s.io/kubernetes/cmd/kubelet' },
  'kube-proxy': { module: 'kubernetes', package: 'k8s.io/kubernetes/cmd/kube-proxy' },
  containerd: { module: 'containerd', package: 'github.com/containerd/containerd/v2/cmd/containerd' },
  'containerd-shim-runc-v2': {
    module: 'containerd',
    package: 'github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2',
  },
  ctr: { module: 'containerd', package: 'github.com/containerd/containerd/v2/cmd/ctr' },
  coredns: { module: 'dns', package: '.' },
  pause: { module: 'pause', package: '.' },
  helm: { module: 'helm', package: 'helm.sh/helm/v4/cmd/helm' },
} as const satisfies Record<string, { module: keyof typeof modules; package: string }>;

export type Program = keyof typeof programs;

/** What a control plane needs, and what a whole node needs. */
export const CONTROL_PLANE_PROGRAMS = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kubectl',
] as const satisfies Program[];
export const NODE_PROGRAMS = [
  ...CONTROL_PLANE_PROGRAMS,
  'kube-scheduler',
  'kubelet',
  'kube-proxy',
  'containerd',
  'containerd-shim-runc-v2',
  'ctr',
  'coredns',
  'pause',
] as const satisfies Program[];
export const ALL_PROGRAMS = Object.keys(programs) as Program[];

/** Where everything that the tests build once is kept. */
export const cacheFolder = (): string => join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'vmcp-test');

/**
 * Paths of the programs, in the order asked for; builds those that the cache lacks and says so on `progress`. A program
 * of `KUBEBUILDER_ASSETS` (the convention of controller-runtime's setup-envtest) is taken instead of ours.
 */
export async function ensurePrograms<const Names extends readonly Program[]>(
  names: Names,
  progress: (line: string) => void = defaultProgress,
): Promise<Record<Names[number], string>> {
  const paths: Partial<Record<Program, string>> = {};
  for (const name of names) paths[name] = await ensureProgram(name, progress);
  return paths as Record<Names[number], string>;
}

const defaultProgress = (line: string): void => void process.stderr.write(`${line}\n`);

async function ensureProgram(name: Program, progress: (line: string) => void): Promise<string> {
  const assets = process.env['KUBEBUILDER_ASSETS'];
  if (assets !== undefined && assets !== '' && (await exists(join(assets, name)))) return join(assets, name);
  const path = join(cacheFolder(), await versionKey(programs[name].module), 'bin', name);
  if (await exists(path)) return path;
  // One lock for all programs: two compilers at once would only share the same cores.
  return withLock(`programs ${cacheFolder()}`, async () => {
    if (!(await exists(path))) await build(name, path, progress);
    return path;
  });
}

async function build(name: Program, path: string, progress: (line: string) => void): Promise<void> {
  const program = programs[name];
  const { ldflags, tags } = modules[program.module];
  await mkdir(join(path, '..'), { recursive: true });
  const go = await goToolchain(cacheFolder(), progress);
  progress(`building ${name} (once; kept in ${cacheFolder()})`);
  const started = performance.now();
  const temporary = `${path}.${process.pid}`;
  try {
    await run(
      go,
      ['build', '-trimpath', '-buildvcs=false', '-tags', tags, '-ldflags', ldflags, '-o', temporary, program.package],
      {
        cwd: folderOf(program.module),
        env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '', GOTOOLCHAIN: 'local' },
      },
    );
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
  progress(`built ${name} in ${((performance.now() - started) / 1000).toFixed(0)} s`);
}

/**
 * Changes with the pinned versions, our own sources and the flags; one key per module, so that a new helm rebuilds no
 * kubelet.
 */
async function versionKey(module: keyof typeof modules): Promise<string> {
  const folder = folderOf(module);
  const hash = createHash('sha256').update(JSON.stringify(modules[module]));
  for (const file of (await readdir(folder)).sort()) hash.update(file).update(await readFile(join(folder, file)));
  return `${module}-${hash.digest('hex').slice(0, 12)}`;
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

function kubernetesVersionFlags(version: string): string {
  const [major, minor] = version.split('.');
  const set = (name: string, value: string | undefined): string => `-X k8s.io/component-base/version.${name}=${value}`;
  return [set('gitVersion', `v${version}`), set('gitMajor', major), set('gitMinor', minor)].join(' ');
}
