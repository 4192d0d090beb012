import type { OwnerReference } from '../object.ts';
import { isNotFound, isRefusal } from './errors.ts';
import type { Transport } from './transport.ts';

/**
 * The operator's service account, if it is in this namespace: objects that it owns are deleted with it when the chart
 * is uninstalled. Every authenticated user may create a SelfSubjectReview (authentication.k8s.io/v1).
 */
export const ownServiceAccount = async (
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
