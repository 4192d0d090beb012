import { POD_TEMPLATE_KEYS, patchProblems, strategicMerge } from '../strategic-merge/index.ts';
import { type Validator, type Violation, violation } from './validator.ts';

type Json = Readonly<Record<string, unknown>>;

/** What runs as a container of its own, and what that container is called. */
const CONTAINERS: Readonly<Record<string, string>> = {
  EmbeddingServer: 'embedding',
  MCPRemoteProxy: 'vmcp',
  MCPServer: 'mcp',
  VirtualMCPServer: 'vmcp',
};

/** spec: spec.podTemplateSpec, a strategic merge patch over the operator's template. What only its types forbid, the API server tells. */
export const podTemplate: Validator = {
  kinds: Object.keys(CONTAINERS),
  validate: ({ kind, spec }) => {
    const { podTemplateSpec: patch } = spec as { readonly podTemplateSpec?: Json };
    if (patch === undefined) return [];
    const malformed = [...patchProblems(patch, POD_TEMPLATE_KEYS), ...mapProblems(patch)];
    return malformed.length > 0
      ? malformed.map(({ path, reason, remedy }) => violation(`${AT}.${path}`, reason, remedy))
      : CONTAINERS[kind] === CONTAINER
        ? touchedReserved(patch)
        : withoutContainer(patch, CONTAINERS[kind] ?? '');
  },
};

const AT = 'spec.podTemplateSpec';

/** Maps that the operator adds to, so that the API server would not see what was there instead. */
const mapProblems = ({ metadata }: Json): readonly { path: string; reason: string; remedy: string }[] =>
  ['labels', 'annotations'].flatMap((field) => {
    const value = (metadata as Json | null | undefined)?.[field] ?? {};
    const isMap = typeof value === 'object' && !Array.isArray(value);
    return isMap ? [] : [{ path: `metadata.${field}`, reason: 'is no map', remedy: 'write a map' }];
  });

const CONTAINER = 'vmcp';

/** Where the config, secrets and certificates of the server lie. */
const RESERVED_PATH = /^\/etc\/vmcp(?:\/|$)/;
/** Of the operator's volumes only the one for temporary files may be another. */
const RESERVED_VOLUME = /^vmcp-(?!tmp$)/;

const touchedReserved = (patch: Json): readonly Violation[] => {
  const { containers, volumes } = podSpecOf(patch);
  const named = [
    ...(volumes ?? []).flatMap(({ name = '' }, index) =>
      RESERVED_VOLUME.test(name)
        ? [violation(`${AT}.spec.volumes[${index}]`, `volume ${name} is the operator's`, 'give yours another name')]
        : [],
    ),
    ...(containers ?? []).flatMap(({ name, volumeMounts }, index) =>
      name === CONTAINER ? reservedMounts(volumeMounts ?? [], `${AT}.spec.containers[${index}]`) : [],
    ),
  ];
  return named.length > 0 ? named : removed(patch);
};

const reservedMounts = (mounts: NonNullable<Container['volumeMounts']>, at: string): readonly Violation[] =>
  mounts.flatMap(({ mountPath = '' }, index) =>
    RESERVED_PATH.test(mountPath)
      ? [violation(`${at}.volumeMounts[${index}]`, `${mountPath} is the operator's`, 'mount it outside /etc/vmcp')]
      : [],
  );

const CONFIG = { name: 'vmcp-config' };
/** Stands for what the server cannot run without: merging shows whether the patch takes it away. */
const essential = {
  spec: {
    containers: [{ name: CONTAINER, volumeMounts: [{ ...CONFIG, mountPath: '/etc/vmcp/config' }] }],
    volumes: [CONFIG],
  },
};

const removed = (patch: Json): readonly Violation[] => {
  const left = podSpecOf(strategicMerge(essential, patch, POD_TEMPLATE_KEYS));
  const server = left.containers?.find(({ name }) => name === CONTAINER);
  if (server === undefined) return withoutContainer(patch, CONTAINER);
  const isConfig = ({ name }: { readonly name?: string }): boolean => name === CONFIG.name;
  if (left.volumes?.some(isConfig) !== true) {
    const path = `${AT}.spec.volumes`;
    return [violation(path, "removes the operator's volumes", 'name the volumes to add or to delete')];
  }
  return server.volumeMounts?.some(isConfig) === true
    ? []
    : [
        violation(
          `${placeOf(patch, CONTAINER)}.volumeMounts`,
          "removes the operator's mounts",
          'name the mounts to add or to delete',
        ),
      ];
};

/** Merging shows whether the patch takes the container away. */
const withoutContainer = (patch: Json, container: string): readonly Violation[] => {
  const left = podSpecOf(strategicMerge({ spec: { containers: [{ name: container }] } }, patch, POD_TEMPLATE_KEYS));
  if (left.containers?.some(({ name }) => name === container) === true) return [];
  const reason = `removes container ${container}, which is the server`;
  return [violation(placeOf(patch, container), reason, 'name the containers to add or to delete')];
};

const placeOf = (patch: Json, container: string): string => {
  const index = podSpecOf(patch).containers?.findIndex(({ name }) => name === container) ?? -1;
  return `${AT}.spec.containers${index < 0 ? '' : `[${index}]`}`;
};

const podSpecOf = (template: Json): PodSpec => template['spec'] ?? {};

/** Nulls delete. Everything else about the shape has been checked. */
interface PodSpec {
  readonly containers?: readonly Container[] | null;
  readonly volumes?: readonly { readonly name?: string }[] | null;
}

interface Container {
  readonly name?: string;
  readonly volumeMounts?: readonly { readonly name?: string; readonly mountPath?: string }[] | null;
}
