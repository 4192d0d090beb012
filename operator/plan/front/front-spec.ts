import { lookUpIn } from '../references.ts';
import { type Value, type WrittenInput, before } from '../server/part.ts';
import type { AuthzConfig, EmbeddedAuthServer, OidcConfigRef, ServerSpec } from '../server/spec.ts';

/** Fields of an MCPRemoteProxy or MCPServer that concern its clients: what the runtime in front of its one backend acts on. */
interface ClientsSpec {
  readonly groupRef?: { readonly name: string };
  readonly oidcConfigRef?: OidcConfigRef;
  readonly authzConfig?: AuthzConfig;
  readonly authServerRef?: { readonly name: string };
  readonly rateLimiting?: Value;
}

/** Fields that a VirtualMCPServer spells alike. */
type AlikeKey = 'podTemplateSpec' | 'replicas' | 'resources' | 'serviceAccount' | 'sessionAffinity' | 'sessionStorage';

/** What it asks for, as a VirtualMCPServer with one backend would say it; `alike` are the fields of it that are the runtime's, too. */
export const frontSpec =
  (alike: readonly AlikeKey[]) =>
  (input: WrittenInput): ServerSpec => {
    const { groupRef, oidcConfigRef, authzConfig, authServerRef, rateLimiting } = input.written as ClientsSpec;
    const authServerConfig = authServerRef && authServerOf(authServerRef.name, input);
    return {
      ...Object.fromEntries(alike.flatMap((key) => (key in input.written ? [[key, input.written[key]]] : []))),
      isFront: true,
      groupRef: groupRef ?? { name: '' },
      incomingAuth: {
        // Whose tokens are valid is nowhere said: everybody may connect.
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

/** Decisions "Last good spec": what came from a lost object stays as it was; the file's spelling of it is taken like a resource's. */
const authServerOf = (name: string, input: WrittenInput): EmbeddedAuthServer | undefined => {
  const target = lookUpIn(input.references)('MCPExternalAuthConfig', name);
  const { embeddedAuthServer } = (target?.['spec'] ?? {}) as { readonly embeddedAuthServer?: EmbeddedAuthServer };
  return target === undefined ? (before(input, 'authServer') as EmbeddedAuthServer | undefined) : embeddedAuthServer;
};
