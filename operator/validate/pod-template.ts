import { POD_TEMPLATE_KEYS, patchProblems, strategicMerge } from '../strategic-merge/index.ts';
import { type Validator, type Violation, violation } from './validator.ts';

type Json = Readonly<Record<string, unknown>>;

/** spec: spec.podTemplateSpec, a strategic merge patch over the operator's template. What only its types forbid, the API server tells. */
export const podTemplate: Validator = {
  kinds: ['VirtualMCPServer'],
  validate: ({ spec }) => {
    const { podTemplateSpec: patch } = spec as { readonly podTemplateSpec?: Json };
    if (patch === undefined) return [];
    const malformed = [...patchProblems(patch, POD_TEMPLATE_KEYS), ...mapProblems(patch)];
    return malformed.length > 0
      ? malformed.map(({ path, reason, remedy }) => violation(`${AT}.${path}`, reason, remedy))
      : touchedReserved(patch);
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
  const index = podSpecOf(patch).containers?.findIndex(({ name }) => name === CONTAINER) ?? -1;
  const place = `${AT}.spec.containers${index < 0 ? '' : `[${index}]`}`;
  if (server === undefined) {
    return [violation(place, 'removes container vmcp, which is the server', 'name the containers to add or to delete')];
  }
  const isConfig = ({ name }: { readonly name?: string }): boolean => name === CONFIG.name;
  if (left.volumes?.some(isConfig) !== true) {
    const path = `${AT}.spec.volumes`;
    return [violation(path, "removes the operator's volumes", 'name the volumes to add or to delete')];
  }
  return server.volumeMounts?.some(isConfig) === true
    ? []
    : [violation(`${place}.volumeMounts`, "removes the operator's mounts", 'name the mounts to add or to delete')];
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
