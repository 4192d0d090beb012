import { AT, type Json, leftOf, placeOf, podSpecOf, volumesRemoved, withoutContainer } from './pod-template-parts.ts';
import { type Violation, violation } from './validator.ts';

/** It holds the token that container `bridge` attaches with. */
export const BRIDGE_TOKEN_VOLUME = 'vmcp-bridge-token';

const [SERVER, BRIDGE] = ['mcp', 'bridge'] as const;

/** Everything else of container `bridge` is how it reaches the server, and what it is reached by. */
const MAY_CHANGE: ReadonlySet<string> = new Set([
  'name',
  'resources',
  'securityContext',
  'imagePullPolicy',
  'startupProbe',
  'readinessProbe',
  'livenessProbe',
]);

/** Violations of a stdio server's pod template: parts that the bridge needs, or that only the bridge may have. */
export const bridgeViolations = (patch: Json): readonly Violation[] => {
  const missing = [...withoutContainer(patch, SERVER), ...withoutContainer(patch, BRIDGE, 'the way to the server')];
  if (missing.length > 0) return missing;
  const named = [...bridgeFields(patch), ...tokenMounts(patch), ...sharedProcesses(patch), ...otherAccount(patch)];
  return named.length > 0 ? named : [...removedVolume(patch), ...otherInput(patch)];
};

const bridgeFields = (patch: Json): readonly Violation[] => {
  const changed = (podSpecOf(patch).containers ?? []).find(({ name }) => name === BRIDGE) ?? {};
  const remedy = `remove it; of container ${BRIDGE} only resources, securityContext, imagePullPolicy and probes can be changed`;
  return Object.keys(changed)
    .filter((field) => !MAY_CHANGE.has(field))
    .map((field) => violation(`${placeOf(patch, BRIDGE)}.${field}`, "is the operator's", remedy));
};

/** A container that sees the processes of the bridge can read its files through `/proc`, and so its token. */
const SHARED_PROCESSES = ['shareProcessNamespace', 'hostPID'] as const;

const sharedProcesses = (patch: Json): readonly Violation[] => {
  const written = podSpecOf(patch) as Json;
  return SHARED_PROCESSES.filter((field) => (written[field] ?? false) !== false).map((field) =>
    violation(`${AT}.spec.${field}`, 'would show the files of container bridge to the server', 'remove it'),
  );
};

/**
 * The RoleBinding is for the account of `spec.serviceAccount`, or the one that is made; `serviceAccount` is its name of
 * old.
 */
const otherAccount = (patch: Json): readonly Violation[] => {
  const ours = { serviceAccountName: 'ours', serviceAccount: 'ours' };
  const left = leftOf({ spec: ours }, patch) as Json;
  return Object.keys(ours)
    .filter((field) => left[field] !== 'ours')
    .slice(0, 1)
    .map((field) =>
      violation(
        `${AT}.spec.${field}`,
        'the pods would have an account without the right to attach',
        'remove it, or set spec.serviceAccount',
      ),
    );
};

const tokenMounts = (patch: Json): readonly Violation[] => {
  const { containers, initContainers } = podSpecOf(patch);
  return Object.entries({ containers, initContainers }).flatMap(([list, all]) =>
    (all ?? []).flatMap(({ name, volumeMounts }, at) =>
      (name === BRIDGE ? [] : (volumeMounts ?? [])).flatMap((mount, index) =>
        mount.name === BRIDGE_TOKEN_VOLUME
          ? [
              violation(
                `${AT}.spec.${list}[${at}].volumeMounts[${index}]`,
                `volume ${BRIDGE_TOKEN_VOLUME} is for container ${BRIDGE} alone`,
                'mount a volume of your own',
              ),
            ]
          : [],
      ),
    ),
  );
};

const removedVolume = (patch: Json): readonly Violation[] => {
  const { volumes } = leftOf({ spec: { volumes: [{ name: BRIDGE_TOKEN_VOLUME }] } }, patch);
  return volumes?.some(({ name }) => name === BRIDGE_TOKEN_VOLUME) === true ? [] : [volumesRemoved()];
};

/** Standard input stays open for the next attachment; a terminal would alter the messages. */
const INPUT: readonly (readonly [field: string, wanted: boolean])[] = [
  ['stdin', true],
  ['stdinOnce', false],
  ['tty', false],
];

const otherInput = (patch: Json): readonly Violation[] => {
  const { containers } = leftOf({ spec: { containers: [{ name: SERVER, stdin: true }] } }, patch);
  const server = (containers?.find(({ name }) => name === SERVER) ?? {}) as Json;
  return INPUT.filter(([field, wanted]) => (server[field] ?? false) !== wanted).map(([field, wanted]) =>
    violation(
      `${placeOf(patch, SERVER)}.${field}`,
      `must be ${wanted} for the bridge to speak to the server`,
      'remove it, or set transport to how the server is spoken to',
    ),
  );
};
