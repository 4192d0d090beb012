import type { OwnerReference } from '../object.ts';
import { isNotFound, isRefusal } from './errors.ts';
import type { Transport } from './transport.ts';

/**
 * The service account that we act as, if it is one of this namespace: what it owns goes with it, when the chart is
 * uninstalled. SelfSubjectReview (authentication.k8s.io/v1): everybody may ask who they are.
 */
export const ownAccount = async (
  transport: Transport,
  namespace: string,
  signal: AbortSignal,
): Promise<OwnerReference | undefined> => {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  try {
    const { status } = (await transport.json(
      { verb: 'create', kind: review.kind, method: 'POST', path, body: review },
      signal,
    )) as { readonly status?: { readonly userInfo?: { readonly username?: string; readonly uid?: string } } };
    const { username = '', uid = '' } = status?.userInfo ?? {};
    const prefix = `system:serviceaccount:${namespace}:`;
    if (!username.startsWith(prefix) || uid === '') return undefined;
    return { apiVersion: 'v1', kind: 'ServiceAccount', name: username.slice(prefix.length), uid };
  } catch (error) {
    if (isRefusal(error) || isNotFound(error)) return undefined;
    throw error;
  }
};
