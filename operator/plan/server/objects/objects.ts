import type { KubeObject } from '../../../object.ts';
import { formatVersionOf, withStartupKeysOf } from '../../contract.ts';
import type { ConfigFiles } from '../../plan.ts';
import type { Mac } from '../../mac.ts';
import type { ServerSpec } from '../../server-spec.ts';
import type { Settings } from '../../settings.ts';
import type { WrittenSpec } from '../../written-spec.ts';
import type { BackendFiles, ServerBundle } from '../bundle.ts';
import { type Authentication, filesIn, isVerified, configMapData, withFilesMac } from './accepted.ts';
import { configMap, deployment, service, serviceAccount } from './children.ts';
import type { MountedFiles } from './mounted-files.ts';
import { configMapName, mountedConfigMap, replacedConfigMapUidOf } from './pod-template.ts';

/** What a spec is rendered to, as far as children are made of it. */
export interface RenderedServer {
  readonly written: WrittenSpec;
  readonly spec: ServerSpec;
  readonly startupHash: string;
  readonly files: ConfigFiles;
  readonly mounted: MountedFiles;
  readonly backendFiles: BackendFiles;
}

/**
 * Children in the order they are applied: a pod never starts before what it mounts (docs/decisions.md "Config in the
 * cluster").
 */
export const objectsOf = (
  bundle: ServerBundle,
  rendering: RenderedServer,
  settings: Settings,
  generation: number | undefined,
): readonly KubeObject[] => {
  const { server, children } = bundle;
  const { written, spec, startupHash, files, mounted, backendFiles } = rendering;
  const lost = replacedConfigMapUidOf(children.deployment, children.configMaps);
  const template = { server, spec, settings, startupHash, mounted, replacedConfigMapUid: lost };
  const current = configMapName(template);
  const known = { caBundles: mounted.caBundles, backendFiles };
  const accepted = { ...(generation !== undefined && { generation }), written, files, ...known };
  const kept = configMapData(accepted, { server, mac: settings.mac });
  const account = serviceAccount(server, spec);
  return [
    ...(account === undefined ? [] : [account]),
    service(server, spec),
    configMap(server, current, kept),
    ...olderConfigMaps(bundle, kept, current, settings.mac),
    deployment(template),
  ];
};

/**
 * The ConfigMap that pods mount, restored where another writer has edited it and its content is known, while nothing
 * can be planned.
 */
export const repairsOf = ({ server, accepted, children }: ServerBundle, { mac }: Settings): readonly KubeObject[] => {
  const { deployment, configMaps } = children;
  const name = deployment && mountedConfigMap(deployment);
  if (name === undefined || accepted?.files === undefined) return [];
  const existing = configMaps.find(({ metadata }) => metadata.name === name);
  const isWhole = existing !== undefined && isVerified(dataOf(existing), { server, mac });
  return isWhole ? [] : [configMap(server, name, configMapData(accepted, { server, mac }))];
};

/**
 * ConfigMaps of pods that a rollout has not replaced, or a rollback may bring back: current, but with the keys that
 * they started with, so that old and new pods both read a config that fits them.
 */
const olderConfigMaps = (
  { server, children }: ServerBundle,
  kept: ConfigFiles,
  current: string,
  mac: Mac | undefined,
): readonly KubeObject[] => {
  const inUse = new Set(children.replicaSets.filter(isAlive).map(mountedConfigMap));
  return children.configMaps
    .filter(({ metadata }) => metadata.name !== current && inUse.has(metadata.name))
    .flatMap((existing) => {
      const data = olderData(dataOf(existing), kept, { server, mac });
      return data === undefined ? [] : [configMap(server, existing.metadata.name, data)];
    });
};

/**
 * Undefined where its pods read another format version. A ConfigMap that another writer has edited does not show which
 * start-up keys they have.
 */
const olderData = (old: ConfigFiles, kept: ConfigFiles, authentication: Authentication): ConfigFiles | undefined => {
  if (!isVerified(old, authentication)) return kept;
  return formatVersionOf(old) === formatVersionOf(kept)
    ? withFilesMac(liveChange(old, filesIn(kept)), authentication)
    : undefined;
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
