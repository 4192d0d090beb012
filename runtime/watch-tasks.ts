import type { MayHave } from './admission.ts';
import type { BackendSet } from './backends/index.ts';
import type { BackendTarget, Caller } from './call.ts';

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

/** Listens at each backend that has some of the tasks, for a caller who may. Tasks that no backend has, or that cannot be asked after now, are left out. */
export const taskWatcher =
  (mayHave: MayHave, backends: Pick<BackendSet, 'watchTasks'>): WatchTasks =>
  async (ids, listener, events) => {
    const targets = (await Promise.all(ids.map((id) => taskFor(listener.caller, id, mayHave)))).filter(
      (target) => target !== undefined,
    );
    const watched = await Promise.all(
      [...Map.groupBy(targets, ({ backend }) => backend).values()].map((ofOne) =>
        backends.watchTasks(ofOne, listener, events).catch(() => NONE),
      ),
    );
    return ids.filter((id) => watched.some((told) => told.has(id)));
  };

const NONE: ReadonlySet<string> = new Set();

const taskFor = async (caller: Caller, name: string, mayHave: MayHave): Promise<BackendTarget | undefined> => {
  const target = await mayHave({ caller, method: 'subscriptions/listen', names: 'task', name, origin: 'client' });
  return target?.kind === 'backend' ? target : undefined;
};
