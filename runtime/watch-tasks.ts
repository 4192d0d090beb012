import type { BackendSet } from './backends/index.ts';
import type { Call, Caller, Target } from './call.ts';
import type { Offer } from './catalog/index.ts';

/** Who wants to hear of tasks. */
export interface TaskListener {
  readonly caller: Caller;
  /** JSON text of what it declares of itself. */
  readonly capabilities: Buffer;
}

export interface TaskEvents {
  /** Nothing is listened for any more. */
  readonly signal: AbortSignal;
  /** Gets JSON text of the params of `notifications/tasks`, under the id that our clients know. */
  readonly onTold: (params: Buffer) => void;
  /** From now on something may happen that is not told. */
  readonly onEnd: () => void;
}

/** Resolves to those of the tasks that will be told of, in the same order. */
export type WatchTasks = (
  ids: readonly string[],
  listener: TaskListener,
  events: TaskEvents,
) => Promise<readonly string[]>;

/** Listens at each backend that has some of the tasks. What nobody has, or cannot be had now, is left out. */
export const taskWatcher =
  (lookUp: Offer['lookUp'], backends: Pick<BackendSet, 'watchTasks'>): WatchTasks =>
  async (ids, listener, events) => {
    const find = (name: string) => found(lookUp, { names: 'task', name, caller: listener.caller });
    const targets = (await Promise.all(ids.map(find))).filter((target) => target !== undefined);
    const watched = await Promise.all(
      [...Map.groupBy(targets, ({ backend }) => backend).values()].map((ofOne) =>
        backends.watchTasks(ofOne, listener, events).catch(() => NONE),
      ),
    );
    return ids.filter((id) => watched.some((told) => told.has(id)));
  };

const NONE: ReadonlySet<string> = new Set();

const found = async (
  lookUp: Offer['lookUp'],
  name: Pick<Call, 'names' | 'name' | 'caller'>,
): Promise<Target | undefined> => {
  try {
    return await lookUp(name);
  } catch {
    return undefined;
  }
};
