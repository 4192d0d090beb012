import type { ResourceProblem, SpecOf } from '../../crds/index.ts';

/**
 * What would keep callers out of a VirtualMCPServer that lets everybody in (accepted, ignored, told: docs/decisions.md
 * "Anonymous access").
 */
export const ignoredGuards = ({ incomingAuth }: Partial<SpecOf<'VirtualMCPServer'>>): readonly ResourceProblem[] => {
  const { type, oidcConfigRef, authzConfig } = incomingAuth ?? {};
  if (type !== 'anonymous') return [];
  const at = 'spec.incomingAuth';
  return [
    ...(oidcConfigRef === undefined ? [] : [{ path: `${at}.oidcConfigRef`, ...TOKENS }]),
    ...(authzConfig === undefined ? [] : [{ path: `${at}.authzConfig`, ...POLICIES }]),
  ];
};

const TOKENS = { reason: 'incomingAuth.type anonymous checks no token', remedy: 'set it to oidc' };
const POLICIES = { reason: 'incomingAuth.type anonymous disables all access control', remedy: 'set it to oidc' };
