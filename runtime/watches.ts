import type { BackendSet } from './backends/index.ts';
import type { BackendTarget, Caller, MayHave, WatchResource, WatchTasks } from './call/index.ts';

/** Watches a resource at the backend that owns it, if the caller may read it. */
export const resourceWatcher =
  (mayHave: MayHave, backends: Pick<BackendSet, 'watch'>): WatchResource =>
  async (uri, caller, listener) => {
    const access = { caller, method: 'subscriptions/listen', names: 'resource', name: uri, origin: 'client' } as const;
    const target = await mayHave(access);
    if (target?.kind !== 'backend') return undefined;
    try {
      return backends.watch(target, { uri, caller }, listener);
    } catch {
      // The backend was removed meanwhile.
      return undefined;
    }
  };

/**
 * Listens for the tasks at their backends, if the caller may see them. Tasks of unknown backends, or of backends that
 * do not answer now, are left out.
 */
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
