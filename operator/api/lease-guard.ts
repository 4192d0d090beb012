import type { ApiClient } from './client.ts';

/**
 * A client that rejects writes unless `isHeld`. A process that was suspended and resumes handles the answers that came
 * meanwhile before its timers report that the lease has expired; the next write of a reconcile would be sent.
 */
export const leaseGuarded = (api: ApiClient, isHeld: () => boolean): ApiClient => {
  const held = <T>(write: () => Promise<T>): Promise<T> =>
    isHeld() ? write() : Promise.reject(new Error('the Lease has run out: nothing is written'));
  return {
    // Each method by name: one that is added to the client has to be added here.
    clusterIssuer: (signal) => api.clusterIssuer(signal),
    get: (key, signal) => api.get(key, signal),
    getMetadata: (key, signal) => api.getMetadata(key, signal),
    list: (selection, signal, keep) => api.list(selection, signal, keep),
    watch: (selection, resourceVersion, signal) => api.watch(selection, resourceVersion, signal),
    apply: (object, signal, manager) => held(() => api.apply(object, signal, manager)),
    applyNew: (object, signal) => held(() => api.applyNew(object, signal)),
    applyStatus: (object, signal) => held(() => api.applyStatus(object, signal)),
    create: (object, signal) => held(() => api.create(object, signal)),
    createOwned: (object, signal) => held(() => api.createOwned(object, signal)),
    replace: (object, signal) => held(() => api.replace(object, signal)),
    mergePatch: (key, patch, signal) => held(() => api.mergePatch(key, patch, signal)),
    remove: (key, uid, signal) => held(() => api.remove(key, uid, signal)),
  };
};
