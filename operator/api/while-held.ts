import type { ApiClient } from './client.ts';

/**
 * The same client, which writes only while `isHeld`. A process that was stopped and goes on gets the answers that came
 * meanwhile before its timers tell it that its time is over: what comes next in a reconcile would be sent.
 */
export const whileHeld = (api: ApiClient, isHeld: () => boolean): ApiClient => {
  const held = <A extends readonly unknown[], T>(write: (...args: A) => Promise<T>) => {
    return (...args: A): Promise<T> =>
      isHeld() ? write(...args) : Promise.reject(new Error('the Lease has run out: nothing is written'));
  };
  return {
    ...api,
    apply: held(api.apply),
    applyStatus: held(api.applyStatus),
    create: held(api.create),
    createOwned: held(api.createOwned),
    replace: held(api.replace),
    mergePatch: held(api.mergePatch),
    remove: held(api.remove),
  };
};
