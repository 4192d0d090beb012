import type { KubeObject } from '../object.ts';
import { outlineMetadata } from './held-metadata.ts';

/**
 * An object as far as its metadata tells whose it is, without its content. ConfigMaps are watched like this: everybody
 * may label one as ours, and the content of those that no pod of ours mounts is to take no memory. So is what a
 * namespace holds too much of (`MemoryBudget`).
 */
export const outlineOf = ({ apiVersion, kind, metadata }: KubeObject): KubeObject => ({
  apiVersion,
  kind,
  metadata: outlineMetadata(metadata),
  [MARK]: true,
});

/** Must its content be read first? */
export const isOutline = (object: KubeObject): boolean => object[MARK] === true;

/** No field of any Kubernetes object. */
const MARK = 'isOutline';
