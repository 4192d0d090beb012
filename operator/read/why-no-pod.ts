import type { ApiClient } from '../api/client.ts';
import { isRefusal } from '../api/errors.ts';
import type { KubeObject } from '../object.ts';

/** Everybody who may write events may write many about one object; those of the controller itself are a handful. */
const MOST_EVENTS = 500;

/**
 * Why no pod of this StatefulSet is made, in the words of its controller, which has no condition for that. Undefined when its newest event tells
 * of something else, or events cannot be read.
 */
export const whyNoPod = async (
  { metadata: { namespace = '', uid = '' } }: KubeObject,
  api: Pick<ApiClient, 'list'>,
  signal: AbortSignal,
): Promise<string | undefined> => {
  const fieldSelector = `regarding.kind=StatefulSet,regarding.uid=${uid}`;
  try {
    const { items } = await api.list({ kind: 'Event', namespace, fieldSelector, atMost: MOST_EVENTS }, signal);
    const [newest] = items.toSorted((a, b) => (versionOf(a) < versionOf(b) ? 1 : -1));
    const { reason, note } = (newest ?? {}) as { readonly reason?: string; readonly note?: string };
    return reason === 'FailedCreate' ? note : undefined;
  } catch (error) {
    // The rights of an earlier release, which the next upgrade of the chart replaces.
    if (isRefusal(error)) return undefined;
    throw error;
  }
};

const versionOf = ({ metadata }: KubeObject): bigint => BigInt(metadata.resourceVersion ?? '0');
