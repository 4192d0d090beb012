import { compareText } from '../../../../runtime/text.ts';
import type { KubeObject } from '../../../object.ts';
import type { Settings } from '../../settings.ts';
import { podsOf } from '../../workload/running-workload.ts';
import type { CaBundle, KeyRef } from '../bundle.ts';

type Value = Readonly<Record<string, unknown>>;

/** What the pod mounts. */
export interface MountedFiles {
  readonly secrets: readonly KeyRef[];
  readonly caBundles: readonly CaBundle[];
}

/** Not a legal name of a backend, so that none can take their place. */
export const CA_OWNERS = { oidc: '_oidc', telemetry: '_telemetry' } as const;

/** Where secrets and CA bundles lie in the pod: docs/decisions.md "Files in the pod" */
const SECRETS = { volume: 'vmcp-secrets', directory: '/etc/vmcp/secrets' } as const;
const CA_BUNDLES = { volume: 'vmcp-ca-bundles', directory: '/etc/vmcp/ca-bundles' } as const;
const CA_FILE = 'ca.crt';

/** Where the runtime finds the value of a secret's key. */
export const secretPath = ({ name, key }: KeyRef, { local }: Settings): string =>
  `${local === undefined ? SECRETS.directory : `${local.filesDirectory}/secrets`}/${name}/${key}`;

/** Where it finds a CA bundle; in a directory of manifests, the ConfigMap itself. */
export const caBundlePath = (owner: string, { name, key }: KeyRef, { local }: Settings): string =>
  local === undefined
    ? `${CA_BUNDLES.directory}/${owner}/${CA_FILE}`
    : `${local.filesDirectory}/configmaps/${name}/${key}`;

export interface MountInput {
  /** Every file that the config names. */
  readonly filePaths: readonly string[];
  /** All that are known; of two with one owner the later one counts. */
  readonly caBundles: readonly CaBundle[];
  readonly deployment: KubeObject | undefined;
  /** Files of backends, of those that are withheld, too, which the config does not name. */
  readonly ofBackends: readonly string[];
}

/**
 * What the rendered files name below the directories of the pod. Read off the files themselves, whatever a path came
 * from, so that all that is named is mounted; nothing else is, unless pods have it for a backend that is withheld.
 */
export const mountedFiles = ({ filePaths, caBundles, deployment, ofBackends }: MountInput): MountedFiles => {
  const sources = new Map(caBundles.map((each) => [each.owner, each]));
  const named = [...new Set(filePaths)].filter(isMountable).sort(compareText);
  const paths = pathsToMount(mountedNow(deployment), named, ofBackends);
  return {
    secrets: paths.flatMap((path) => {
      const [, name, key] = SECRET_PATH.exec(path) ?? [];
      return name === undefined || key === undefined ? [] : [{ name, key }];
    }),
    caBundles: paths.flatMap((path) => sources.get(CA_PATH.exec(path)?.[1] ?? '') ?? []),
  };
};

/**
 * Pods that already mount everything the config names keep the files of withheld backends, too: such a backend may be
 * back in a moment, and the pods need not be replaced twice (docs/architecture.md "Live reload"). Pods that are
 * replaced anyway get only what is named.
 */
const pathsToMount = (
  mounted: readonly string[],
  named: readonly string[],
  ofBackends: readonly string[],
): readonly string[] =>
  named.every((path) => mounted.includes(path))
    ? mounted.filter((path) => named.includes(path) || ofBackends.includes(path)).sort(compareText)
    : named;

/** Kubernetes: names of Secrets are DNS subdomains, keys have letters, digits, `-`, `_` and `.`. */
const SECRET_PATH = /^\/etc\/vmcp\/secrets\/([a-z0-9][a-z0-9.-]{0,252})\/(?!\.{1,2}$)([A-Za-z0-9._-]{1,253})$/;
const CA_PATH = /^\/etc\/vmcp\/ca-bundles\/([A-Za-z0-9_-]+)\/ca\.crt$/;

const isMountable = (path: string): boolean => SECRET_PATH.test(path) || CA_PATH.test(path);

/**
 * All optional: what is missing fails what uses it, and not the pod (docs/architecture.md "Secrets stay in Secrets").
 */
export const fileVolumes = ({ secrets, caBundles }: MountedFiles): readonly Value[] => [
  ...volume(
    SECRETS.volume,
    byName(secrets).map(([name, keys]) => ({
      secret: { name, items: keys.map((key) => ({ key, path: `${name}/${key}` })), optional: true },
    })),
  ),
  ...volume(
    CA_BUNDLES.volume,
    caBundles.map(({ owner, configMap: { name, key } }) => ({
      configMap: { name, items: [{ key, path: `${owner}/${CA_FILE}` }], optional: true },
    })),
  ),
];

/** The `volumeMounts` of the runtime for these files; none for a volume without files. */
export const fileMounts = ({ secrets, caBundles }: MountedFiles): readonly Value[] => [
  ...mount(SECRETS, secrets),
  ...mount(CA_BUNDLES, caBundles),
];

const volume = (name: string, sources: readonly Value[]): readonly Value[] =>
  sources.length === 0 ? [] : [{ name, projected: { sources } }];

const mount = (
  { volume: name, directory: mountPath }: typeof SECRETS | typeof CA_BUNDLES,
  files: readonly unknown[],
): readonly Value[] => (files.length === 0 ? [] : [{ name, mountPath, readOnly: true }]);

const byName = (secrets: readonly KeyRef[]): readonly (readonly [string, readonly string[]])[] =>
  Map.groupBy(secrets, ({ name }) => name)
    .entries()
    .map(([name, refs]) => [name, refs.map(({ key }) => key)] as const)
    .toArray();

/** Where files of ours lie in the pods of a Deployment. */
const mountedNow = (deployment: KubeObject | undefined): readonly string[] => {
  if (deployment === undefined) return [];
  const { volumes = [] } = podsOf(deployment).spec;
  return [SECRETS, CA_BUNDLES].flatMap(({ volume: name, directory }) => {
    const { projected } = volumes.find((each) => each.name === name) ?? {};
    const items = (projected?.sources ?? []).flatMap(({ secret, configMap }) => (secret ?? configMap)?.items ?? []);
    return items.map(({ path }) => `${directory}/${path}`);
  });
};
