import type { ApiClient } from './client.ts';
import { ApiError } from './errors.ts';
import type { Verb } from './transport.ts';
import { keyOf } from '../object.ts';
import type { KubeObject, ObjectKey } from '../object.ts';

/** A write that the API server answered. */
export interface Write {
  readonly verb: Exclude<Verb, 'get' | 'list' | 'watch'>;
  readonly key: ObjectKey;
  readonly subresource?: 'status';
  /** Object or patch; absent for a removal. */
  readonly sent?: object;
  /** The object as it is then; absent for a removal and where it was not taken. */
  readonly answer?: KubeObject;
  readonly error?: ApiError;
}

/** The same client, which calls `onWrite` for each write that the API server answered. */
export const observeWrites = (api: ApiClient, onWrite: (write: Write) => void): ApiClient => {
  const told = async <T extends KubeObject | undefined | void>(write: Write, answered: Promise<T>): Promise<T> => {
    try {
      const answer = await answered;
      if (answer !== undefined) onWrite({ ...write, answer });
      // What else has no answer was not written: there is one of its name.
      else if (write.verb === 'delete') onWrite(write);
      return answer;
    } catch (error) {
      if (error instanceof ApiError) onWrite({ ...write, error });
      throw error;
    }
  };
  const about = (verb: Write['verb'], sent: KubeObject): Write => ({ verb, key: keyOf(sent), sent });
  return {
    ...api,
    apply: (object, signal, manager) => told(about('apply', object), api.apply(object, signal, manager)),
    applyNew: (object, signal) => told(about('apply', object), api.applyNew(object, signal)),
    applyStatus: (object, signal) =>
      told({ ...about('apply', object), subresource: 'status' }, api.applyStatus(object, signal)),
    create: (object, signal) => told(about('create', object), api.create(object, signal)),
    createOwned: (object, signal) => told(about('create', object), api.createOwned(object, signal)),
    replace: (object, signal) => told(about('update', object), api.replace(object, signal)),
    mergePatch: (key, patch, signal) => told({ verb: 'patch', key, sent: patch }, api.mergePatch(key, patch, signal)),
    remove: (key, uid, signal) => told({ verb: 'delete', key }, api.remove(key, uid, signal)),
  };
};
