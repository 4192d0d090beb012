import { POD_TEMPLATE_KEYS, strategicMerge } from '../strategic-merge/index.ts';

/** A pod template: the operator's own, or with the user's over it. */
export interface PodTemplate {
  readonly metadata: {
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: Readonly<Record<string, unknown>>;
}

/**
 * The template that the operator makes with the user's over it. What the operator recognizes its pods by stays: its
 * labels are the selector (docs/decisions.md "Labels of children"), its annotations say when pods have to be replaced.
 */
export const customizedPodTemplate = (own: PodTemplate, patch: Readonly<Record<string, unknown>> = {}): PodTemplate => {
  const merged = strategicMerge({ ...own }, patch, POD_TEMPLATE_KEYS) as Partial<PodTemplate>;
  const annotations = { ...merged.metadata?.annotations, ...own.metadata.annotations };
  return {
    ...merged,
    metadata: {
      ...merged.metadata,
      labels: { ...merged.metadata?.labels, ...own.metadata.labels },
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
    spec: withSortedPullSecrets(merged.spec ?? {}),
  };
};

/** docs/decisions.md "Pull secrets": their order means nothing, so another one must not roll pods. */
const withSortedPullSecrets = (spec: PodTemplate['spec']): PodTemplate['spec'] => {
  const { imagePullSecrets } = spec;
  return Array.isArray(imagePullSecrets)
    ? { ...spec, imagePullSecrets: [...byName(imagePullSecrets as readonly Named[]).values()].sort(inOrder) }
    : spec;
};

interface Named {
  readonly name?: string;
}

/** The later of one name wins: what comes after is the pod template's (docs/decisions.md "Pull secrets"). */
const byName = (list: readonly Named[]): ReadonlyMap<string, Named> =>
  new Map(list.map((each) => [each.name ?? '', each]));

const inOrder = (a: Named, b: Named): number => ((a.name ?? '') < (b.name ?? '') ? -1 : 1);
