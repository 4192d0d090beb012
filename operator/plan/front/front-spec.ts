import { fieldsOf, specOf } from '../../../crds/index.ts';
import { lookUpIn } from '../references.ts';
import type { EmbeddedAuthServer, ServerSpec } from '../server-spec.ts';
import { type WrittenInput, before } from '../server/config/part.ts';

/** Kinds with clients of their own, whom the runtime in front of their one backend serves. */
const KINDS = ['MCPRemoteProxy', 'MCPServer'] as const;

/** Fields that a VirtualMCPServer has under the same names. */
type RuntimeKey =
  | 'podTemplateSpec'
  | 'replicas'
  | 'resources'
  | 'serviceAccount'
  | 'sessionAffinity'
  | 'sessionStorage';

/**
 * The spec in the words of a VirtualMCPServer with one backend; `runtimeKeys` are its fields that are the runtime's,
 * too.
 */
export const frontSpec =
  (runtimeKeys: readonly RuntimeKey[]) =>
  (input: WrittenInput): ServerSpec => {
    const { groupRef, oidcConfigRef, authzConfig, authServerRef, rateLimiting } = fieldsOf(KINDS, {
      spec: input.written,
    });
    const authServerConfig = authServerRef && authServerOf(authServerRef.name, input);
    return {
      ...Object.fromEntries(runtimeKeys.flatMap((key) => (key in input.written ? [[key, input.written[key]]] : []))),
      isFront: true,
      groupRef: groupRef ?? { name: '' },
      incomingAuth: {
        // Without oidcConfigRef every caller is admitted.
        type: oidcConfigRef === undefined ? 'anonymous' : 'oidc',
        ...(oidcConfigRef && { oidcConfigRef }),
        ...(authzConfig && { authzConfig }),
      },
      ...(authServerConfig && { authServerConfig }),
      config: { aggregation: OWN_NAMES, ...(rateLimiting && { rateLimiting }) },
    };
  };

/** The tools of a single backend cannot collide: clients see them under the names that it gives them. */
const OWN_NAMES = { conflictResolutionConfig: { prefixFormat: '' } };

/**
 * docs/decisions.md "Last good spec": what came from a lost object stays as it was; the file's spelling of it is taken
 * like a resource's.
 */
const authServerOf = (name: string, input: WrittenInput): EmbeddedAuthServer | undefined => {
  const target = lookUpIn(input.references)('MCPExternalAuthConfig', name);
  return target === undefined
    ? (before(input, 'authServer') as EmbeddedAuthServer | undefined)
    : specOf('MCPExternalAuthConfig', target).embeddedAuthServer;
};
