import type { ResourceProblem } from '../../crds/index.ts';

interface WithCallers {
  readonly incomingAuth?: { readonly type?: string; readonly oidcConfigRef?: unknown; readonly authzConfig?: unknown };
}

/** What would keep callers out of a VirtualMCPServer that lets everybody in (decisions "Where the spec can be read two ways": accepted, ignored, told). */
export const ignoredGuards = (spec: object): readonly ResourceProblem[] => {
  const { type, oidcConfigRef, authzConfig } = (spec as WithCallers).incomingAuth ?? {};
  if (type !== 'anonymous') return [];
  const at = 'spec.incomingAuth';
  return [
    ...(oidcConfigRef === undefined ? [] : [{ path: `${at}.oidcConfigRef`, ...TOKENS }]),
    ...(authzConfig === undefined ? [] : [{ path: `${at}.authzConfig`, ...POLICIES }]),
  ];
};

const TOKENS = { reason: 'incomingAuth.type anonymous checks no token', remedy: 'set it to oidc' };
const POLICIES = { reason: 'incomingAuth.type anonymous disables all access control', remedy: 'set it to oidc' };
