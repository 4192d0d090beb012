/** A ConfigMap or Secret that a pod sees as files. */
export interface Mount {
  readonly kind: 'ConfigMap' | 'Secret';
  readonly name: string;
  /** The keys it sees; undefined: all. */
  readonly keys: readonly string[] | undefined;
}

interface Mounted {
  readonly name?: string;
  readonly items?: unknown;
}

interface Volume {
  readonly configMap?: Mounted | null;
  readonly projected?: { readonly sources?: unknown } | null;
}

interface Source {
  readonly configMap?: Mounted | null;
  readonly secret?: Mounted | null;
}

/**
 * The ConfigMaps that a pod with this spec mounts, and the Secrets in its projected volumes, where the operator puts
 * them.
 */
export const mountsOf = (podSpec: unknown): readonly Mount[] => {
  const { volumes } = (podSpec ?? {}) as { readonly volumes?: unknown };
  return (recordsIn(volumes) as readonly Volume[]).flatMap(({ configMap, projected }) => [
    ...mount('ConfigMap', configMap),
    ...(recordsIn(projected?.sources) as readonly Source[]).flatMap((source) => [
      ...mount('ConfigMap', source.configMap),
      ...mount('Secret', source.secret),
    ]),
  ]);
};

/** Does a pod with this spec mount the ConfigMap of this name? */
export const mountsConfigMap = (podSpec: unknown, configMap: string): boolean =>
  mountsOf(podSpec).some(({ kind, name }) => kind === 'ConfigMap' && name === configMap);

const mount = (kind: Mount['kind'], mounted: Mounted | null | undefined): readonly Mount[] =>
  mounted?.name === undefined
    ? []
    : [{ kind, name: mounted.name, keys: mounted.items === undefined ? undefined : keysOf(mounted.items) }];

const keysOf = (items: unknown): readonly string[] =>
  (recordsIn(items) as readonly { readonly key: string }[]).map(({ key }) => key);

/** A pod template is the user's: a list may be anything until the API server has refused it. */
const recordsIn = (value: unknown): readonly object[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'object' && item !== null) : [];
