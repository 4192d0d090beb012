import type { ApiClient } from '../api/client.ts';
import { isRefusal } from '../api/errors.ts';
import type { KubeObject } from '../object.ts';

/** A user who may write events can write many about one object; the controller itself writes a handful. */
const MAX_EVENTS = 500;

/**
 * What lasts: the controller pauses 5 ms after the first and twice as long after each other one, so that these take 5
 * s.
 */
const FAILURES = 10;

interface Event extends KubeObject {
  readonly reason?: string;
  readonly note?: string;
  /** How often, as recorders of the older form of events count. */
  readonly deprecatedCount?: number;
  readonly series?: { readonly count?: number };
}

/**
 * Why no pod of this StatefulSet is created, in the words of its controller, which has no condition for that. Undefined
 * when its newest event reports something else, when it has failed for a moment only, or when events cannot be read.
 */
export const podCreationFailure = async (
  { metadata: { namespace = '', uid = '' } }: KubeObject,
  api: Pick<ApiClient, 'list'>,
  signal: AbortSignal,
): Promise<string | undefined> => {
  const fieldSelector = `regarding.kind=StatefulSet,regarding.uid=${uid}`;
  try {
    const { items } = await api.list({ kind: 'Event', namespace, fieldSelector, atMost: MAX_EVENTS }, signal);
    const newestFirst = items.toSorted((a, b) => (versionOf(a) < versionOf(b) ? 1 : -1)) as readonly Event[];
    const success = newestFirst.findIndex(({ reason }) => reason !== 'FailedCreate');
    const failures = success === -1 ? newestFirst : newestFirst.slice(0, success);
    const count = failures.reduce((sum, each) => sum + (each.deprecatedCount ?? each.series?.count ?? 1), 0);
    return count < FAILURES ? undefined : failures[0]?.note;
  } catch (error) {
    // The rights of an earlier release, which the next upgrade of the chart replaces.
    if (isRefusal(error)) return undefined;
    throw error;
  }
};

const versionOf = ({ metadata }: KubeObject): bigint => BigInt(metadata.resourceVersion ?? '0');
