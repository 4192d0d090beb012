import type { KubeObject } from './object.ts';

/**
 * An object as far as its metadata tells whose it is, without its content. ConfigMaps are watched like this: everybody may label one as ours,
 * and the content of those that no pod of ours mounts is to take no memory.
 */
export const outlineOf = ({ apiVersion, kind, metadata }: KubeObject): KubeObject => {
  // Both hold as much as their author likes, and nothing is decided by them before the content is known.
  const { annotations: _, managedFields: __, ...kept } = metadata;
  return { apiVersion, kind, metadata: kept, [MARK]: true };
};

/** Must its content be read first? */
export const isOutline = (object: KubeObject): boolean => object[MARK] === true;

/** No field of any Kubernetes object. */
const MARK = 'isOutline';
