import { POD_TEMPLATE_KEYS, strategicMerge } from '../strategic-merge/index.ts';
import { type Violation, violation } from './validator.ts';

export type Json = Readonly<Record<string, unknown>>;

/** Nulls delete. Everything else about the shape has been checked. */
export interface PodSpec {
  readonly containers?: readonly Container[] | null;
  readonly initContainers?: readonly Container[] | null;
  readonly volumes?: readonly { readonly name?: string }[] | null;
}

export interface Container {
  readonly name?: string;
  readonly volumeMounts?: readonly Mount[] | null;
}

export interface Mount {
  readonly name?: string;
  readonly mountPath?: string;
}

/** Path of the field in violations. */
export const AT = 'spec.podTemplateSpec';

export const podSpecOf = (template: Json): PodSpec => template['spec'] ?? {};

/** What is left of `essential` under the patch. */
export const leftOf = (essential: Json, patch: Json): PodSpec =>
  podSpecOf(strategicMerge(essential, patch, POD_TEMPLATE_KEYS));

/** Path of a container in the patch; of the list where the patch does not name the container. */
export const placeOf = (patch: Json, container: string): string => {
  const index = podSpecOf(patch).containers?.findIndex(({ name }) => name === container) ?? -1;
  return `${AT}.spec.containers${index < 0 ? '' : `[${index}]`}`;
};

/** Merging shows whether the patch takes the container away. */
export const withoutContainer = (patch: Json, container: string, what = 'the server'): readonly Violation[] => {
  const left = leftOf({ spec: { containers: [{ name: container }] } }, patch);
  if (left.containers?.some(({ name }) => name === container) === true) return [];
  const reason = `removes container ${container}, which is ${what}`;
  return [violation(placeOf(patch, container), reason, 'name the containers to add or to delete')];
};

/** The violation of a patch that deletes or replaces all volumes. */
export const volumesRemoved = (): Violation =>
  violation(`${AT}.spec.volumes`, "removes the operator's volumes", 'name the volumes to add or to delete');

/** Violations for volumes of the patch that have a name of the operator's. */
export const reservedVolumes = (patch: Json, isReserved: (name: string) => boolean): readonly Violation[] =>
  (podSpecOf(patch).volumes ?? []).flatMap(({ name = '' }, index) =>
    isReserved(name)
      ? [violation(`${AT}.spec.volumes[${index}]`, `volume ${name} is the operator's`, 'give yours another name')]
      : [],
  );
