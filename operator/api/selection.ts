import type { Resource } from './resources.ts';
import type { KubeObject } from '../object.ts';

/** Which objects of a kind; an empty namespace means all of them. */
export interface Selection {
  readonly kind: string;
  readonly namespace: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Of a list: no more than the first so many. */
  readonly atMost?: number;
  /** Ask for metadata alone: nothing else of the objects crosses the wire. */
  readonly metadataOnly?: boolean;
}

/**
 * Kinds whose objects are watched by their metadata alone: the values of Secrets are never read, and of the ConfigMaps
 * of others it counts that they are there.
 */
export const METADATA_ONLY: ReadonlySet<string> = new Set(['AnyConfigMap', 'Secret']);

/**
 * Kinds whose objects are watched by their metadata, too, and whose content is read where it is needed (`outlineOf`).
 */
export const OUTLINED: ReadonlySet<string> = new Set(['ConfigMap']);

/** What `Accept` must say to be sent metadata alone. */
export const acceptOf = (selection: Selection, form: 'PartialObjectMetadata' | 'PartialObjectMetadataList'): string =>
  selection.metadataOnly === true ? `application/json;as=${form};g=meta.k8s.io;v=v1` : 'application/json';

/** The object under its own kind, also when the server sent `PartialObjectMetadata` or nothing. */
export const typed = (object: KubeObject, resource: Resource): KubeObject => ({
  ...object,
  apiVersion: resource.apiVersion,
  kind: resource.kind,
});
