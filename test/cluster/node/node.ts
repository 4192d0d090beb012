import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { filesIn, isReady, prepareAccess, type ApiAccess } from '../api-access.ts';
import { apiServerArguments, controllerManagerArguments, etcdArguments } from '../control-plane-arguments.ts';
import { newCrew, type Crew } from '../daemon.ts';
import { imageStore, provide } from '../images/image-store.ts';
import { acquireOneOf } from '../lock.ts';
import { ensurePrograms, NODE_PROGRAMS } from '../programs.ts';
import { scratchFolder } from '../scratch.ts';
import { until } from '../until.ts';
import { ADDRESSES, type Addresses, API_PORT } from './addresses.ts';
import { cgroupKind, makeCgroup, removeCgroup } from './cgroups.ts';
import { makeNamespaces, unplugCable, type Namespaces } from './namespaces.ts';
import {
  cniSettings,
  containerdSettings,
  dnsService,
  dnsSettings,
  kubeletSettings,
  proxySettings,
  type NodePaths,
} from './settings.ts';
import { cniFolder, nodeSupport } from './support.ts';

/**
 * A whole cluster of one node, which has all `Images`. The host reaches its pods and Services by their addresses; pods
 * reach the host at `hostAddress`.
 */
export interface Node extends ApiAccess {
  /** No other node that runs has any of these; the lock of `lockOf` is held. */
  readonly addresses: Addresses;
  readonly hostAddress: string;
  readonly stop: () => Promise<void>;
}

type Programs = Record<(typeof NODE_PROGRAMS)[number], string>;

interface Place {
  readonly programs: Programs;
  readonly folder: string;
  readonly addresses: Addresses;
  readonly crew: Crew;
  /** Path of the storage of images. */
  readonly store: string;
}

/** What the parts of the start-up share. */
interface Site extends Place {
  readonly namespaces: Namespaces;
}

/**
 * Starts a node; waits while others have all that a machine may have. Needs root; `nodeSupport` says whether it can be
 * had.
 */
export async function startNode(): Promise<Node> {
  const support = await nodeSupport();
  if (!support.ok) throw new Error(`no one-node cluster here: ${support.why}`);
  const programs = await ensurePrograms(NODE_PROGRAMS);
  const { addresses, release } = await freeAddresses();
  const scratch = await scratchFolder('node');
  const crew = newCrew();
  const stop = async (): Promise<void> => {
    await crew.stop();
    await unplugCable(addresses.link);
    await until('the end of the pods', () => removeCgroup(addresses.cgroup).then(() => true), { timeoutMs: 10_000 });
    await scratch.remove();
    await release();
  };
  try {
    const store = await imageStore(programs);
    return { ...(await crew.watch(bringUp({ programs, folder: scratch.path, addresses, crew, store }))), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Name of the lock. */
export const lockOf = ({ link }: Addresses): string => `node ${link}`;

async function freeAddresses(): Promise<{ readonly addresses: Addresses; readonly release: () => Promise<void> }> {
  const { index, release } = await acquireOneOf(ADDRESSES.map(lockOf));
  const addresses = ADDRESSES[index];
  if (addresses === undefined) throw new Error(`there are no addresses ${index}`);
  return { addresses, release };
}

async function bringUp(place: Place): Promise<Omit<Node, 'stop'>> {
  const { programs, folder, addresses, crew } = place;
  for (const name of ['var/lib', 'var/log', 'var/tmp', 'cgroup', 'sysctl', 'cni'])
    await mkdir(join(folder, name), { recursive: true });
  await symlink('/run', join(folder, 'var/run'));
  await makeCgroup(addresses.cgroup);
  const namespaces = await makeNamespaces(crew, { folder, pause: programs.pause, addresses });
  const site: Site = { ...place, namespaces };
  const paths = await writeSettings(folder, addresses);
  const access = await prepareAccess(folder, `https://${addresses.node}:${API_PORT}`, programs.kubectl);
  await Promise.all([startApi(site, access), startContainers(site, paths)]);
  await startRest(site, access, paths);
  await joined(access);
  return { ...access, addresses, hostAddress: addresses.host };
}

async function start(
  { programs, folder, namespaces, crew }: Site,
  name: keyof Programs,
  args: readonly string[],
): Promise<void> {
  const folders = [...new Set(Object.values(programs).map((path) => dirname(path)))];
  const PATH = [...folders, '/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'].join(':');
  await crew.start({
    name,
    ...namespaces.inside(programs[name], args),
    logFile: join(folder, `${name}.log`),
    // Half as many collections of garbage, for a third more memory (Go, "A Guide to the Go Garbage Collector").
    env: { PATH, HOME: folder, GOGC: '200' },
  });
}

async function startApi(site: Site, access: ApiAccess): Promise<void> {
  const files = filesIn(site.folder);
  await start(site, 'etcd', etcdArguments(files));
  await start(site, 'kube-apiserver', [
    ...apiServerArguments(files, site.addresses.serviceRange),
    `--secure-port=${API_PORT}`,
    '--bind-address=0.0.0.0',
    `--advertise-address=${site.addresses.node}`,
    '--kubelet-preferred-address-types=InternalIP',
  ]);
  await until('the API server', () => isReady(access));
}

async function startContainers(site: Site, { containerdRoot }: NodePaths): Promise<void> {
  const { folder, namespaces, programs, store } = site;
  await provide(store, containerdRoot, (options) => namespaces.run('mount', options));
  await start(site, 'containerd', ['--config', join(folder, 'containerd.toml')]);
  await until('containerd', () => namespaces.run(programs.ctr, ['version']));
}

async function startRest(site: Site, access: ApiAccess, paths: NodePaths): Promise<void> {
  const { folder, addresses } = site;
  const server = (name: string): string[] => ['--secure-port=0', `--cert-dir=${join(folder, name)}`];
  await start(site, 'kube-controller-manager', controllerManagerArguments(filesIn(folder)));
  await start(site, 'kube-scheduler', [
    `--kubeconfig=${paths.kubeconfig}`,
    '--leader-elect=false',
    ...server('scheduler'),
  ]);
  await start(site, 'kubelet', [
    `--config=${join(folder, 'kubelet.yaml')}`,
    `--kubeconfig=${paths.kubeconfig}`,
    '--hostname-override=node1',
    `--node-ip=${addresses.node}`,
    `--cert-dir=${join(folder, 'kubelet-certificates')}`,
  ]);
  await start(site, 'kube-proxy', [`--config=${join(folder, 'kube-proxy.yaml')}`]);
  await start(site, 'coredns', ['-conf', join(folder, 'Corefile')]);
  await access.kubectl(['apply', '--filename', '-'], dnsService(addresses));
}

async function joined({ get }: ApiAccess): Promise<void> {
  const isNodeReady = async (): Promise<true | undefined> => {
    const { status } = (await get('node', 'node1')) as { readonly status?: Status };
    return status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') ? true : undefined;
  };
  // Pods are refused until their namespace has it.
  const account = until('the default service account', () => get('serviceaccount', 'default'));
  await Promise.all([until('the node', isNodeReady), account]);
}

interface Status {
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}

async function writeSettings(folder: string, addresses: Addresses): Promise<NodePaths> {
  const cniPlugins = await cniFolder();
  if (cniPlugins === undefined) throw new Error('the CNI plugins are gone');
  const paths: NodePaths = {
    kubeconfig: filesIn(folder).kubeconfig,
    cniPlugins,
    cniConfig: join(folder, 'cni'),
    containerdRoot: join(folder, 'containerd'),
    resolvConf: join(folder, 'resolv.conf'),
  };
  await writeFile(join(folder, 'containerd.toml'), containerdSettings(paths));
  await writeFile(join(folder, 'kubelet.yaml'), kubeletSettings(paths, addresses, await cgroupKind()));
  await writeFile(join(folder, 'kube-proxy.yaml'), proxySettings(paths, addresses));
  await writeFile(join(folder, 'Corefile'), dnsSettings(paths));
  await writeFile(join(folder, 'cni', '10-node.conflist'), cniSettings(addresses));
  // Of the host's name servers none can be reached from the node.
  await writeFile(paths.resolvConf, '');
  return paths;
}
