import type { Planned } from '../kinds/plan-everything.ts';
import type { KubeObject } from '../object.ts';
import { serverSpec } from '../plan/server-spec.ts';
import type { Settings } from '../plan/settings.ts';
import { MEMBER_KINDS, groupNameOf } from '../read/resolve.ts';

/** Every name that a backend of this directory has, served or not. */
export const backendNames = (objects: readonly KubeObject[]): readonly string[] => [
  ...new Set([
    ...objects.filter(isMember).map(({ metadata }) => metadata.name),
    ...objects
      .filter(({ kind }) => kind === 'VirtualMCPServer')
      .flatMap((server) => (serverSpec(server).config?.backends ?? []).map(({ name }) => name)),
  ]),
];

/** Mappings of backends that no server serves: misspelt, or something between the two is. */
export const unservedMappings = (
  { local }: Settings,
  objects: readonly KubeObject[],
  planned: readonly Planned[],
): readonly string[] => {
  const served = new Set(servedNames(planned));
  return Object.keys(local?.backends ?? {})
    .filter((name) => !served.has(name))
    .map((name) => whyNotServed(name, objects));
};

export const unknownBackend = (name: string, objects: readonly KubeObject[]): string =>
  `no backend is called ${name}; there are ${backendNames(objects).join(', ') || 'none'}`;

/** Names of the backends that the status of some server lists. */
export const servedNames = (planned: readonly Planned[]): readonly string[] =>
  planned.flatMap(({ plan }) =>
    ((plan.status?.['discoveredBackends'] ?? []) as readonly { readonly name: string }[]).map(({ name }) => name),
  );

const whyNotServed = (name: string, objects: readonly KubeObject[]): string => {
  const member = objects.find((each) => isMember(each) && each.metadata.name === name);
  if (member === undefined) return unknownBackend(name, objects);
  const group = groupNameOf(member);
  if (group === undefined) return `${name} is mapped, but is in no MCPGroup; set spec.groupRef`;
  const exists = objects.some(({ kind, metadata }) => kind === 'MCPGroup' && metadata.name === group);
  return exists
    ? `${name} is mapped, but no VirtualMCPServer serves its MCPGroup ${group}`
    : `${name} is mapped, but its MCPGroup ${group} does not exist`;
};

const isMember = ({ kind }: KubeObject): boolean => (MEMBER_KINDS as readonly string[]).includes(kind);
