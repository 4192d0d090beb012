import { isDeepStrictEqual } from 'node:util';
import { parseResource } from '../../../../crds/index.ts';
import { compareText } from '../../../../runtime/text.ts';
import type { KubeObject } from '../../../object.ts';
import { acceptedGenerationOf } from '../../accepted-generation.ts';
import { canonicalJson } from '../../canonical.ts';
import type { ConfigFiles } from '../../plan.ts';
import type { Seal } from '../../seal.ts';
import { labelsOfChild } from '../../workload/child.ts';
import type { WrittenSpec } from '../../written-spec.ts';
import type { Accepted, BackendFiles, CaBundle } from '../bundle.ts';
import { childName, servedChild } from './names.ts';
import { MOUNTED_KEYS, mountedConfigMap } from './pod-template.ts';

/** Keys of the ConfigMap that hold it, and prove it and its files; pods see none of them. */
const ACCEPTED_KEY = 'accepted.json';
const ACCEPTED_SEAL_KEY = 'accepted.seal';
const FILES_SEAL_KEY = 'files.seal';

export interface Sealing {
  readonly server: KubeObject;
  readonly seal: Seal | undefined;
}

/** The files with what they were made from. */
export const keptWith = (
  { generation, written: spec, files = {}, caBundles = [], backendFiles = {} }: Accepted,
  { server, seal }: Sealing,
): ConfigFiles => {
  const known = {
    ...(caBundles.length > 0 && { caBundles }),
    ...(Object.keys(backendFiles).length > 0 && { backendFiles }),
  };
  const text = `${canonicalJson({ generation, spec, ...known })}\n`;
  const data = { ...files, [ACCEPTED_KEY]: text };
  return {
    ...data,
    ...(seal && {
      [ACCEPTED_SEAL_KEY]: seal.of(sealedText(server, { [ACCEPTED_KEY]: text })),
      [FILES_SEAL_KEY]: seal.of(filesText(server, data)),
    }),
  };
};

/** Did the operator write these files? Of one that seals nothing everything is believed. */
export const isProven = (data: ConfigFiles, { server, seal }: Sealing): boolean =>
  seal === undefined || filesProvenIn(data, server, seal) !== undefined;

/** With the seal of its files as they are now. */
export const resealed = (data: ConfigFiles, { server, seal }: Sealing): ConfigFiles =>
  seal === undefined ? data : { ...data, [FILES_SEAL_KEY]: seal.of(filesText(server, data)) };

/** What one server keeps proves nothing for another, nor for one that is made anew under its name. */
const sealedText = ({ kind, metadata: { namespace, name, uid } }: KubeObject, content: object): string =>
  canonicalJson({ server: { kind, namespace, name, uid }, ...content });

/** Files of one accepted spec prove nothing beside another one. */
const filesText = (server: KubeObject, data: ConfigFiles): string =>
  sealedText(server, { [ACCEPTED_KEY]: data[ACCEPTED_KEY], files: filesIn(data) });

const filesProvenIn = (data: ConfigFiles, server: KubeObject, seal: Seal): ConfigFiles | undefined =>
  seal.isOf(data[FILES_SEAL_KEY] ?? '', filesText(server, data)) ? filesIn(data) : undefined;

/** Another key may be somebody else's: nothing reads it. */
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
  seal: Seal,
): Accepted | undefined => {
  const current = deployment === undefined ? undefined : mountedConfigMap(deployment);
  const named = new Set(replicaSets.map(mountedConfigMap));
  const rank = ({ metadata: { name } }: KubeObject): number => (name === current ? 0 : named.has(name) ? 1 : 2);
  const candidates = configMaps
    // What our Deployment names, or its ReplicaSets, is ours whoever edited the rest of it.
    .filter((each) => rank(each) < 2 || isMadeFor(each, server))
    .sort((a, b) => rank(a) - rank(b) || compareText(createdAt(b), createdAt(a)));
  for (const candidate of candidates) {
    const accepted = acceptedOf(candidate, server, seal);
    if (accepted !== undefined) return accepted;
  }
  return undefined;
};

/** An owner reference alone is written by anybody who may write ConfigMaps. */
const isMadeFor = ({ metadata }: KubeObject, server: KubeObject): boolean =>
  metadata.name.startsWith(`${childName(server)}-`) &&
  /^[0-9a-f]{10}$/.test(metadata.name.slice(childName(server).length + 1)) &&
  Object.entries(labelsOfChild(servedChild(server))).every(([key, value]) => metadata.labels?.[key] === value);

const createdAt = (object: KubeObject): string => object.metadata.creationTimestamp ?? '';

/** Undefined unless the operator wrote it, and accepted none since: the next candidate counts. */
const acceptedOf = (configMap: KubeObject, server: KubeObject, seal: Seal): Accepted | undefined => {
  const data = (configMap['data'] ?? {}) as ConfigFiles;
  const { [ACCEPTED_KEY]: text = '', [ACCEPTED_SEAL_KEY]: said = '' } = data;
  if (!seal.isOf(said, sealedText(server, { [ACCEPTED_KEY]: text }))) return undefined;
  const { generation, spec, caBundles, backendFiles } = valuesIn(text);
  if (isOutdated(generation, server) || !isSpec(spec, server)) return undefined;
  const files = filesProvenIn(data, server, seal);
  return {
    ...(typeof generation === 'number' && { generation }),
    ...(Array.isArray(caBundles) && { caBundles: caBundles.filter(isCaBundle) }),
    ...(areBackendFiles(backendFiles) && { backendFiles }),
    written: spec,
    ...(files && { files }),
  };
};

/**
 * An earlier one is put back by whoever may write ConfigMaps. A later one than status tells of is ours, too: the
 * operator was ended before it could tell.
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
