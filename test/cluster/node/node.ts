import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { filesIn, isReady, prepareAccess, type ApiAccess } from '../api-access.ts';
import { apiServerArguments, controllerManagerArguments, etcdArguments } from '../control-plane-arguments.ts';
import { newCrew, type Crew } from '../daemon.ts';
import { writeImageArchive } from '../images/image-archive.ts';
import { acquire } from '../lock.ts';
import { ensurePrograms, NODE_PROGRAMS } from '../programs.ts';
import { scratchFolder } from '../scratch.ts';
import { until } from '../until.ts';
import { API_PORT, HOST_ADDRESS, NODE_ADDRESS, SERVICE_RANGE } from './addresses.ts';
import { cgroupKind, makeCgroups, removeCgroups } from './cgroups.ts';
import { makeNamespaces, unplugCable, type Namespaces } from './namespaces.ts';
import {
  cniSettings,
  containerdSettings,
  dnsService,
  dnsSettings,
  kubeletSettings,
  PAUSE_IMAGE,
  proxySettings,
  type NodePaths,
} from './settings.ts';
import { cniFolder, nodeSupport } from './support.ts';

/**
 * A whole cluster of one node. The host reaches its pods and Services by their addresses; pods reach the host at
 * `hostAddress`.
 */
export interface Node extends ApiAccess {
  readonly hostAddress: string;
  /** Loads the images of an archive that `docker save` or `buildah push … docker-archive:` wrote. */
  readonly importImage: (archive: string) => Promise<void>;
  readonly stop: () => Promise<void>;
}

type Programs = Record<(typeof NODE_PROGRAMS)[number], string>;

/** What the parts of the start-up share. */
interface Site {
  readonly programs: Programs;
  readonly folder: string;
  readonly namespaces: Namespaces;
  readonly crew: Crew;
}

/**
 * Starts the node; waits while another test run of this machine has one. Needs root; `nodeSupport` says whether it can
 * be had.
 */
export async function startNode(): Promise<Node> {
  const support = await nodeSupport();
  if (!support.ok) throw new Error(`no one-node cluster here: ${support.why}`);
  const programs = await ensurePrograms(NODE_PROGRAMS);
  const letGo = await acquire('node');
  const scratch = await scratchFolder('node');
  const crew = newCrew();
  const stop = async (): Promise<void> => {
    await crew.stop();
    await unplugCable();
    await until('the end of the pods', removeGroups, { timeoutMs: 10_000 });
    await scratch.remove();
    await letGo();
  };
  try {
    return { ...(await crew.watch(bringUp(programs, scratch.path, crew))), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const removeGroups = (): Promise<true> => removeCgroups().then(() => true);

async function bringUp(programs: Programs, folder: string, crew: Crew): Promise<Omit<Node, 'stop'>> {
  for (const name of ['var/lib', 'var/log', 'var/tmp', 'cgroup', 'sysctl', 'cni'])
    await mkdir(join(folder, name), { recursive: true });
  await symlink('/run', join(folder, 'var/run'));
  await makeCgroups();
  const namespaces = await makeNamespaces(crew, folder, programs.pause);
  const site: Site = { programs, folder, namespaces, crew };
  const paths = await writeSettings(folder);
  const access = await prepareAccess(folder, `https://${NODE_ADDRESS}:${API_PORT}`, programs.kubectl);
  const importImage: Node['importImage'] = async (archive) => {
    await namespaces.run(programs.ctr, ['--namespace', 'k8s.io', 'images', 'import', archive]);
  };
  await Promise.all([startApi(site, access), startContainers(site, importImage)]);
  await startRest(site, access, paths);
  await joined(access);
  return { ...access, hostAddress: HOST_ADDRESS, importImage };
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
    env: { PATH, HOME: folder },
  });
}

async function startApi(site: Site, access: ApiAccess): Promise<void> {
  const files = filesIn(site.folder);
  await start(site, 'etcd', etcdArguments(files));
  await start(site, 'kube-apiserver', [
    ...apiServerArguments(files, SERVICE_RANGE),
    `--secure-port=${API_PORT}`,
    '--bind-address=0.0.0.0',
    `--advertise-address=${NODE_ADDRESS}`,
    '--kubelet-preferred-address-types=InternalIP',
  ]);
  await until('the API server', () => isReady(access));
}

async function startContainers(site: Site, importImage: Node['importImage']): Promise<void> {
  await start(site, 'containerd', ['--config', join(site.folder, 'containerd.toml')]);
  await until('containerd', () => site.namespaces.run(site.programs.ctr, ['version']));
  const root = join(site.folder, 'pause');
  await mkdir(root);
  await copyFile(site.programs.pause, join(root, 'pause'));
  const archive = join(site.folder, 'pause.tar');
  await writeImageArchive({ file: archive, name: PAUSE_IMAGE, root, config: { Entrypoint: ['/pause'] } });
  await importImage(archive);
}

async function startRest(site: Site, access: ApiAccess, paths: NodePaths): Promise<void> {
  const { folder } = site;
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
    `--node-ip=${NODE_ADDRESS}`,
    `--cert-dir=${join(folder, 'kubelet-certificates')}`,
  ]);
  await start(site, 'kube-proxy', [`--config=${join(folder, 'kube-proxy.yaml')}`]);
  await start(site, 'coredns', ['-conf', join(folder, 'Corefile')]);
  await access.kubectl(['apply', '--filename', '-'], dnsService());
}

async function joined({ kubectl }: ApiAccess): Promise<void> {
  const isNodeReady = async (): Promise<true | undefined> => {
    const status = await kubectl([
      'get',
      'node',
      'node1',
      '--output',
      'jsonpath={.status.conditions[?(@.type=="Ready")].status}',
    ]);
    return status === 'True' ? true : undefined;
  };
  // Pods are refused until their namespace has it.
  const account = until('the default service account', () => kubectl(['get', 'serviceaccount', 'default']));
  await Promise.all([until('the node', isNodeReady), account]);
}

async function writeSettings(folder: string): Promise<NodePaths> {
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
  await writeFile(join(folder, 'kubelet.yaml'), kubeletSettings(paths, await cgroupKind()));
  await writeFile(join(folder, 'kube-proxy.yaml'), proxySettings(paths));
  await writeFile(join(folder, 'Corefile'), dnsSettings(paths));
  await writeFile(join(folder, 'cni', '10-node.conflist'), cniSettings());
  // Of the host's name servers none can be reached from the node.
  await writeFile(paths.resolvConf, '');
  return paths;
}
