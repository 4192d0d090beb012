import { isDeepStrictEqual } from 'node:util';
import { parseResource } from '../../../../crds/index.ts';
import { compareText } from '../../../../runtime/text.ts';
import type { KubeObject } from '../../../object.ts';
import { acceptedGenerationOf } from '../../accepted-generation.ts';
import { canonicalJson } from '../../canonical.ts';
import type { ConfigFiles } from '../../plan.ts';
import type { Mac } from '../../mac.ts';
import { labelsOfChild } from '../../workload/child.ts';
import type { WrittenSpec } from '../../written-spec.ts';
import type { Accepted, BackendFiles, CaBundle } from '../bundle.ts';
import { childName, servedChild } from './names.ts';
import { MOUNTED_KEYS, mountedConfigMap } from './pod-template.ts';

/** Keys of the ConfigMap that hold the accepted spec and the MACs of it and its files; pods mount none of them. */
const ACCEPTED_KEY = 'accepted.json';
const ACCEPTED_MAC_KEY = 'accepted.seal';
const FILES_MAC_KEY = 'files.seal';

export interface Authentication {
  readonly server: KubeObject;
  readonly mac: Mac | undefined;
}

/** The files with what they were made from. */
export const configMapData = (
  { generation, written: spec, files = {}, caBundles = [], backendFiles = {} }: Accepted,
  { server, mac }: Authentication,
): ConfigFiles => {
  const known = {
    ...(caBundles.length > 0 && { caBundles }),
    ...(Object.keys(backendFiles).length > 0 && { backendFiles }),
  };
  const text = `${canonicalJson({ generation, spec, ...known })}\n`;
  const data = { ...files, [ACCEPTED_KEY]: text };
  return {
    ...data,
    ...(mac && {
      [ACCEPTED_MAC_KEY]: mac.sign(authenticatedText(server, { [ACCEPTED_KEY]: text })),
      [FILES_MAC_KEY]: mac.sign(filesText(server, data)),
    }),
  };
};

/** Verifies the MAC of these files. Without a MAC key all files count as the operator's. */
export const isVerified = (data: ConfigFiles, { server, mac }: Authentication): boolean =>
  mac === undefined || verifiedFilesIn(data, server, mac) !== undefined;

/** With a new MAC of its files. */
export const withFilesMac = (data: ConfigFiles, { server, mac }: Authentication): ConfigFiles =>
  mac === undefined ? data : { ...data, [FILES_MAC_KEY]: mac.sign(filesText(server, data)) };

/**
 * The MAC covers the server's identity, so that it is worthless for another server, or for one made anew under its
 * name.
 */
const authenticatedText = ({ kind, metadata: { namespace, name, uid } }: KubeObject, content: object): string =>
  canonicalJson({ server: { kind, namespace, name, uid }, ...content });

/** Files of one accepted spec prove nothing beside another one. */
const filesText = (server: KubeObject, data: ConfigFiles): string =>
  authenticatedText(server, { [ACCEPTED_KEY]: data[ACCEPTED_KEY], files: filesIn(data) });

const verifiedFilesIn = (data: ConfigFiles, server: KubeObject, mac: Mac): ConfigFiles | undefined =>
  mac.verify(data[FILES_MAC_KEY] ?? '', filesText(server, data)) ? filesIn(data) : undefined;

/** Other keys may be another writer's and are ignored. */
export const filesIn = (data: ConfigFiles): ConfigFiles =>
  Object.fromEntries(MOUNTED_KEYS.flatMap((key) => (data[key] === undefined ? [] : [[key, data[key]]])));

/** Where the accepted spec of a server may lie. */
export interface AcceptedPlaces {
  readonly server: KubeObject;
  readonly configMaps: readonly KubeObject[];
  readonly deployment: KubeObject | undefined;
  readonly replicaSets: readonly KubeObject[];
}

/**
 * docs/decisions.md "Last good spec": kept in the ConfigMap that the Deployment's template names; if that one is lost,
 * in the newest other one of the server that is not outdated, those that a ReplicaSet names first.
 */
export const acceptedIn = (
  { server, configMaps, deployment, replicaSets }: AcceptedPlaces,
  mac: Mac,
): Accepted | undefined => {
  const current = deployment === undefined ? undefined : mountedConfigMap(deployment);
  const named = new Set(replicaSets.map(mountedConfigMap));
  const rank = ({ metadata: { name } }: KubeObject): number => (name === current ? 0 : named.has(name) ? 1 : 2);
  const candidates = configMaps
    // A ConfigMap that our Deployment or its ReplicaSets name is ours, whatever another writer has edited of it.
    .filter((each) => rank(each) < 2 || isMadeFor(each, server))
    .sort((a, b) => rank(a) - rank(b) || compareText(createdAt(b), createdAt(a)));
  for (const candidate of candidates) {
    const accepted = acceptedOf(candidate, server, mac);
    if (accepted !== undefined) return accepted;
  }
  return undefined;
};

/** Any user who may write ConfigMaps can write an owner reference. */
const isMadeFor = ({ metadata }: KubeObject, server: KubeObject): boolean =>
  metadata.name.startsWith(`${childName(server)}-`) &&
  /^[0-9a-f]{10}$/.test(metadata.name.slice(childName(server).length + 1)) &&
  Object.entries(labelsOfChild(servedChild(server))).every(([key, value]) => metadata.labels?.[key] === value);

const createdAt = (object: KubeObject): string => object.metadata.creationTimestamp ?? '';

/** Undefined unless the MAC is the operator's and no later spec was accepted; then the next candidate counts. */
const acceptedOf = (configMap: KubeObject, server: KubeObject, mac: Mac): Accepted | undefined => {
  const data = (configMap['data'] ?? {}) as ConfigFiles;
  const { [ACCEPTED_KEY]: text = '', [ACCEPTED_MAC_KEY]: said = '' } = data;
  if (!mac.verify(said, authenticatedText(server, { [ACCEPTED_KEY]: text }))) return undefined;
  const { generation, spec, caBundles, backendFiles } = valuesIn(text);
  if (isOutdated(generation, server) || !isSpec(spec, server)) return undefined;
  const files = verifiedFilesIn(data, server, mac);
  return {
    ...(typeof generation === 'number' && { generation }),
    ...(Array.isArray(caBundles) && { caBundles: caBundles.filter(isCaBundle) }),
    ...(areBackendFiles(backendFiles) && { backendFiles }),
    written: spec,
    ...(files && { files }),
  };
};

/**
 * A user who may write ConfigMaps can put an earlier spec back. A later one than the status names is ours, too: the
 * operator was stopped before it wrote the status.
 */
export const isOutdated = (generation: unknown, server: KubeObject): boolean => {
  const last = acceptedGenerationOf(server);
  return last !== undefined && !(typeof generation === 'number' && generation >= last);
};

const isCaBundle = (value: unknown): value is CaBundle => {
  const { owner, configMap } = (value ?? {}) as Partial<CaBundle>;
  return [owner, configMap?.name, configMap?.key].every((each) => typeof each === 'string');
};

const areBackendFiles = (value: unknown): value is BackendFiles =>
  typeof value === 'object' && value !== null && Object.values(value).every((paths) => Array.isArray(paths));

const valuesIn = (text: string): Partial<Record<'generation' | 'spec' | 'caBundles' | 'backendFiles', unknown>> => {
  try {
    return (JSON.parse(text) ?? {}) as object;
  } catch {
    return {};
  }
};

/**
 * What the API server would take; the spec that it has taken needs no second look. One with fields of a newer release
 * is what was accepted, too: to serve an older one in its place would be worse than to leave the pods alone.
 */
const isSpec = (spec: unknown, server: KubeObject): spec is WrittenSpec => {
  if (isDeepStrictEqual(spec, server['spec'])) return true;
  const parsed = parseResource({ ...server, spec });
  return parsed.ok || parsed.problems.every(({ isUnknownField }) => isUnknownField === true);
};
