import type { BackendSet } from './backends/index.ts';
import type { Access, BackendTarget, MayHave, Watcher, WatchResource, WatchTasks } from './call/index.ts';

/** Watches a resource at the backend that owns it, if the caller may read it. */
export const resourceWatcher =
  (mayHave: MayHave, backends: Pick<BackendSet, 'watch'>): WatchResource =>
  async (uri, { caller, request }, listener) => {
    const target = await mayHave(watchOf(caller, 'resource', uri), request);
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
    const targets = (await Promise.all(ids.map((id) => taskFor(listener, id, mayHave)))).filter(
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

const taskFor = async (
  { caller, request }: Watcher,
  id: string,
  mayHave: MayHave,
): Promise<BackendTarget | undefined> => {
  const target = await mayHave(watchOf(caller, 'task', id), request);
  return target?.kind === 'backend' ? target : undefined;
};

/** Access to a name that is listened to, as policies decide it. */
export const watchOf = (caller: Access['caller'], names: 'resource' | 'task', name: string): Access => ({
  caller,
  method: 'subscriptions/listen',
  names,
  name,
  origin: 'client',
});
