import { compareText } from '../../../runtime/compare-text.ts';
import type { KubeObject } from '../../object.ts';
import type { Settings } from '../settings.ts';

type Value = Readonly<Record<string, unknown>>;

/** One key of a Secret or a ConfigMap. */
export interface KeyRef {
  readonly name: string;
  readonly key: string;
}

/** Certificates that something in the config is verified against. */
export interface CaBundle {
  /** What it is for: a backend, or one of `CA_OWNERS`. */
  readonly owner: string;
  readonly configMap: KeyRef;
}

/** What the rendered files name, and the pod therefore mounts. */
export interface MountedFiles {
  readonly secrets: readonly KeyRef[];
  readonly caBundles: readonly CaBundle[];
}

/** Not a legal name of a backend, so that none can take their place. */
export const CA_OWNERS = { oidc: '_oidc', telemetry: '_telemetry' } as const;

/** decisions "Names": where secrets and CA bundles lie in the pod. */
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

/**
 * What the rendered files name below the directories of the pod. Read off the files themselves, whatever a path came from, so that what
 * is named and what is mounted cannot differ. `known` are the bundles of today; one that the config kept from a lost object (decisions
 * "Last good spec") is mounted as the Deployment has it.
 */
export const mountedFiles = (
  filePaths: readonly string[],
  known: readonly CaBundle[],
  deployment: KubeObject | undefined,
): MountedFiles => {
  const paths = [...new Set(filePaths)].sort(compareText);
  const sources = new Map([...mountedNow(deployment), ...known].map((each) => [each.owner, each]));
  return {
    secrets: paths.flatMap((path) => {
      const [, name, key] = SECRET_PATH.exec(path) ?? [];
      return name === undefined || key === undefined ? [] : [{ name, key }];
    }),
    caBundles: paths.flatMap((path) => sources.get(CA_PATH.exec(path)?.[1] ?? '') ?? []),
  };
};

/** Kubernetes: names of Secrets are DNS subdomains, keys have letters, digits, `-`, `_` and `.`. */
const SECRET_PATH = /^\/etc\/vmcp\/secrets\/([a-z0-9][a-z0-9.-]{0,252})\/(?!\.{1,2}$)([A-Za-z0-9._-]{1,253})$/;
const CA_PATH = /^\/etc\/vmcp\/ca-bundles\/([A-Za-z0-9_-]+)\/ca\.crt$/;

/** All optional: what is missing fails what uses it, and not the pod (architecture rule 8). */
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

/** The CA bundles in a Deployment's template. */
const mountedNow = (deployment: KubeObject | undefined): readonly CaBundle[] => {
  const { template } = (deployment?.['spec'] ?? {}) as DeploymentSpec;
  const mounted = template?.spec?.volumes?.find(({ name }) => name === CA_BUNDLES.volume);
  return (mounted?.projected?.sources ?? []).flatMap(({ configMap }) =>
    (configMap?.items ?? []).map(({ key, path }) => ({
      owner: path.slice(0, path.indexOf('/')),
      configMap: { name: configMap?.name ?? '', key },
    })),
  );
};

interface DeploymentSpec {
  readonly template?: { readonly spec?: { readonly volumes?: readonly Volume[] } };
}

interface Volume {
  readonly name: string;
  readonly projected?: {
    readonly sources?: readonly {
      readonly configMap?: { readonly name: string; readonly items?: readonly { key: string; path: string }[] };
    }[];
  };
}
