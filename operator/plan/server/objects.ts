import type { KubeObject } from '../../object.ts';
import type { ServerBundle } from './bundle.ts';
import { formatVersionOf, withStartupKeysOf } from '../contract.ts';
import type { ConfigFiles } from '../plan.ts';
import type { Seal } from '../seal.ts';
import type { Settings } from '../settings.ts';
import { keptWith, resealed } from './accepted.ts';
import { configMap, deployment, service, serviceAccount } from './children.ts';
import { configMapName, mountedConfigMap } from './pod-template.ts';
import type { Rendering } from './render.ts';

/** Children in the order they are applied: a pod never starts before what it mounts (decisions "Config in the cluster"). */
export const objectsOf = (
  bundle: ServerBundle,
  rendering: Rendering,
  settings: Settings,
  generation: number | undefined,
): readonly KubeObject[] => {
  const { server } = bundle;
  const { written, spec, startupHash, files, mounted, backendFiles } = rendering;
  const template = { server, spec, settings, startupHash, mounted };
  const current = configMapName(template);
  const known = { caBundles: mounted.caBundles, backendFiles };
  const accepted = { ...(generation !== undefined && { generation }), written, files, ...known };
  const account = serviceAccount(server, spec);
  return [
    ...(account === undefined ? [] : [account]),
    service(server, spec),
    configMap(server, current, keptWith(accepted, { server, seal: settings.seal })),
    ...olderConfigMaps(bundle, files, current, settings.seal),
    deployment(template),
  ];
};

/**
 * ConfigMaps of pods that a rollout has not replaced, or a rollback may bring back: current, but with the keys that they
 * started with, so that old and new pods both read a config that fits them.
 */
const olderConfigMaps = (
  { server, children }: ServerBundle,
  files: ConfigFiles,
  current: string,
  seal: Seal | undefined,
): readonly KubeObject[] => {
  const inUse = new Set(children.replicaSets.filter(isAlive).map(mountedConfigMap));
  return children.configMaps
    .filter(({ metadata }) => metadata.name !== current && inUse.has(metadata.name))
    .filter((existing) => formatVersionOf(dataOf(existing)) === formatVersionOf(files))
    .map((existing) => {
      const data = resealed(dataOf(existing), liveChange(dataOf(existing), files), { server, seal });
      return configMap(server, existing.metadata.name, data);
    });
};

/** Has pods, or will have. */
const isAlive = (replicaSet: KubeObject): boolean => {
  const { spec, status } = replicaSet as { spec?: { replicas?: number }; status?: { replicas?: number } };
  return (spec?.replicas ?? 0) > 0 || (status?.replicas ?? 0) > 0;
};

const dataOf = (object: KubeObject): ConfigFiles => (object['data'] ?? {}) as ConfigFiles;

/** Its `accepted.json` stays: it is what that template was accepted with. */
const liveChange = (old: ConfigFiles, files: ConfigFiles): ConfigFiles => ({
  ...old,
  ...withStartupKeysOf(files, old),
});
