import { microTime } from './timing.ts';
import type { ApiClient } from '../api/client.ts';
import type { KubeObject } from '../object.ts';
import type { PlannedEvent } from '../plan/plan.ts';
import { conditionsIn } from '../plan/conditions.ts';

export interface EventDeps {
  readonly api: Pick<ApiClient, 'create'>;
  readonly now: () => number;
  /** A short unique text. */
  readonly unique: () => string;
  /** Name of this process among the operator's replicas. */
  readonly instance: string;
  readonly onFailure: (error: unknown) => void;
}

/**
 * The events whose condition is not the one that `before` (the status as it was) already tells: events are for
 * transitions, a restart of the operator is none.
 */
export const transitions = (
  events: readonly PlannedEvent[],
  before: unknown,
  after: unknown,
): readonly PlannedEvent[] => {
  const known = new Map(conditionsIn(before).map((condition) => [condition.type, condition]));
  const changed = conditionsIn(after).filter(({ type, status, reason }) => {
    const old = known.get(type);
    return old?.status !== status || old.reason !== reason;
  });
  return events.filter(({ reason, message }) =>
    changed.some((condition) => condition.reason === reason && condition.message === message),
  );
};

/** Creates the events at the API server; one that it refuses is lost, for events are news and not state. */
export const recordEvents = async (
  regarding: KubeObject,
  events: readonly PlannedEvent[],
  deps: EventDeps,
  signal: AbortSignal,
): Promise<void> => {
  for (const event of events) {
    try {
      await deps.api.create(eventObject(regarding, event, deps), signal);
    } catch (error) {
      deps.onFailure(error);
    }
  }
};

const eventObject = (regarding: KubeObject, event: PlannedEvent, deps: EventDeps): KubeObject => {
  const { name, namespace, uid, resourceVersion } = regarding.metadata;
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: `${name}.${deps.unique()}`, ...(namespace === undefined ? {} : { namespace }) },
    eventTime: microTime(deps.now()),
    type: event.type,
    reason: event.reason,
    note: shortened(event.message),
    action: 'Reconcile',
    reportingController: 'vmcp.dev/operator',
    reportingInstance: deps.instance,
    regarding: { apiVersion: regarding.apiVersion, kind: regarding.kind, name, namespace, uid, resourceVersion },
  };
};

/** The API allows 1 KiB. */
const shortened = (message: string): string =>
  Buffer.byteLength(message) <= 1024 ? message : new TextDecoder().decode(Buffer.from(message).subarray(0, 1000));
