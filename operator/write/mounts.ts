/** A ConfigMap that a pod sees as files. */
export interface Mount {
  readonly name: string;
  /** The keys it sees; undefined: all. */
  readonly keys: readonly string[] | undefined;
}

interface Mounted {
  readonly name?: string;
  readonly items?: readonly { readonly key: string }[];
}

interface Volume {
  readonly configMap?: Mounted;
  readonly projected?: { readonly sources?: readonly { readonly configMap?: Mounted }[] };
}

/** The ConfigMaps that a pod with this spec mounts. */
export const mountsOf = (podSpec: unknown): readonly Mount[] => {
  const volumes = (podSpec as { readonly volumes?: readonly Volume[] } | undefined)?.volumes ?? [];
  return volumes
    .flatMap(({ configMap, projected }) => [configMap, ...(projected?.sources ?? []).map((source) => source.configMap)])
    .flatMap((mounted) =>
      mounted?.name === undefined ? [] : [{ name: mounted.name, keys: mounted.items?.map(({ key }) => key) }],
    );
};
