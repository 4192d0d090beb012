import type { ApiClient } from '../../../operator/api/client.ts';
import { keyOf } from '../../../operator/object.ts';

/** What the API server does with an apply of a new object, of one that is played by its other answers. */
export const withApplyNew = <Api extends Pick<ApiClient, 'get' | 'apply'>>(
  api: Api,
): Api & Pick<ApiClient, 'applyNew'> => ({
  ...api,
  applyNew: async (object, signal) =>
    (await api.get(keyOf(object), signal)) === undefined ? api.apply(object, signal) : undefined,
});
