import { posix } from 'node:path';
import { fieldsOf } from '../../crds/index.ts';
import { POD_TEMPLATE_KEYS, patchProblems } from '../strategic-merge/index.ts';
import { bridgeViolations } from './bridged-pod.ts';
import {
  AT,
  type Json,
  leftOf,
  type Mount,
  placeOf,
  podSpecOf,
  reservedVolumes,
  volumesRemoved,
  withoutContainer,
} from './pod-template-parts.ts';
import { quantityProblems } from './quantities.ts';
import { type Validator, type Violation, violation } from './validator.ts';

/** What runs as a container of its own, and what that container is called. */
const CONTAINERS: Readonly<Record<string, string>> = {
  EmbeddingServer: 'embedding',
  MCPRemoteProxy: 'vmcp',
  MCPServer: 'mcp',
  VirtualMCPServer: 'vmcp',
};

/**
 * docs/pod-template.md "How it is merged": a strategic merge patch over the operator's template. What only its types
 * forbid, the API server reports.
 */
export const podTemplate: Validator = {
  kinds: Object.keys(CONTAINERS),
  validate: (object) => {
    const { kind } = object;
    // All of them spell it alike.
    const { podTemplateSpec: patch, transport = 'stdio' } = fieldsOf(['MCPServer'], object);
    if (patch === undefined) return [];
    if (elementsIn(patch) > MAX_ELEMENTS)
      return [violation(AT, `has more than ${MAX_ELEMENTS} list elements`, 'leave out what no pod needs')];
    const malformed = [...patchProblems(patch, POD_TEMPLATE_KEYS), ...mapProblems(patch)];
    if (malformed.length > 0)
      return malformed.map(({ path, reason, remedy }) => violation(`${AT}.${path}`, reason, remedy));
    const endless = quantityProblems(patch);
    if (endless.length > 0) return endless;
    const labelled = labelsOfOurs(patch);
    if (labelled.length > 0) return labelled;
    if (CONTAINERS[kind] === CONTAINER) return reservedViolations(patch);
    const mistaken = kind === 'MCPServer' ? runtimeLookalikes(patch) : [];
    if (mistaken.length > 0) return mistaken;
    return kind === 'MCPServer' && transport === 'stdio'
      ? bridgeViolations(patch)
      : withoutContainer(patch, CONTAINERS[kind] ?? '');
  },
};

/** Each element costs time at every reconcile, and users decide how many there are. */
const MAX_ELEMENTS = 2000;

/** Of all lists in it. */
const elementsIn = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0;
  const inner = Object.values(value) as readonly unknown[];
  return inner.reduce<number>((sum, each) => sum + elementsIn(each), Array.isArray(value) ? inner.length : 0);
};

/** Maps that the operator adds to, so that the API server would not see what was there instead. */
const mapProblems = ({ metadata }: Json): readonly { path: string; reason: string; remedy: string }[] =>
  ['labels', 'annotations'].flatMap((field) => {
    const value = (metadata as Json | null | undefined)?.[field] ?? {};
    const isMap = typeof value === 'object' && !Array.isArray(value);
    return isMap ? [] : [{ path: `metadata.${field}`, reason: 'is no map', remedy: 'write a map' }];
  });

/**
 * By these Services and policies tell pods of a server apart. Those of `app.kubernetes.io` are overwritten wherever
 * there are pods.
 */
const labelsOfOurs = ({ metadata }: Json): readonly Violation[] =>
  Object.keys((metadata as { readonly labels?: Json | null } | null | undefined)?.labels ?? {})
    .filter((label) => label.startsWith('vmcp.dev/'))
    .map((label) =>
      violation(
        `${AT}.metadata.labels[${label}]`,
        "labels of vmcp.dev are the operator's",
        'give yours another prefix',
      ),
    );

const CONTAINER = 'vmcp';

/** Where the config, secrets and certificates of the server lie. */
const RESERVED_PATH = /^\/etc\/vmcp(?:\/|$)/;
/** Of the operator's volumes only the one for temporary files may be another. */
const RESERVED_VOLUME = /^vmcp-(?!tmp$)/;

const ofOurs = (patch: Json): readonly Violation[] => reservedVolumes(patch, (name) => RESERVED_VOLUME.test(name));

/** Of an MCPServer, which may get the runtime in front: its container is not to look like that. */
const runtimeLookalikes = (patch: Json): readonly Violation[] => [
  ...ofOurs(patch),
  ...(podSpecOf(patch).containers ?? []).flatMap(({ name }, index) =>
    name === CONTAINER
      ? [violation(`${AT}.spec.containers[${index}]`, `container ${name} is the operator's`, 'give yours another name')]
      : [],
  ),
];

const reservedViolations = (patch: Json): readonly Violation[] => {
  const named = [
    ...ofOurs(patch),
    ...(podSpecOf(patch).containers ?? []).flatMap(({ name, volumeMounts }, index) =>
      name === CONTAINER ? reservedMounts(volumeMounts ?? [], `${AT}.spec.containers[${index}]`) : [],
    ),
  ];
  return named.length > 0 ? named : removed(patch);
};

const reservedMounts = (mounts: readonly Mount[], at: string): readonly Violation[] =>
  mounts.flatMap(({ mountPath = '' }, index) =>
    RESERVED_PATH.test(posix.normalize(mountPath))
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
  const left = leftOf(essential, patch);
  const server = left.containers?.find(({ name }) => name === CONTAINER);
  if (server === undefined) return withoutContainer(patch, CONTAINER);
  const isConfig = ({ name }: { readonly name?: string }): boolean => name === CONFIG.name;
  if (left.volumes?.some(isConfig) !== true) return [volumesRemoved()];
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
