import { lookUpIn } from '../references.ts';
import { type WrittenInput, before } from '../server/part.ts';
import type { AuthzConfig, EmbeddedAuthServer, OidcConfigRef, ServerSpec, SessionStorage } from '../server/spec.ts';

/** Fields of an MCPRemoteProxy that the runtime in front of its one backend acts on. */
export interface FrontSpec {
  readonly groupRef?: { readonly name: string };
  readonly oidcConfigRef?: OidcConfigRef;
  readonly authzConfig?: AuthzConfig;
  readonly authServerRef?: { readonly name: string };
  readonly sessionStorage?: SessionStorage;
  readonly replicas?: number;
  readonly resources?: ServerSpec['resources'];
  readonly serviceAccount?: string;
  readonly sessionAffinity?: string;
  readonly podTemplateSpec?: ServerSpec['podTemplateSpec'];
}

/** What it asks for, as a VirtualMCPServer with one backend would say it. */
export const frontSpec = (input: WrittenInput): ServerSpec => {
  const { groupRef, oidcConfigRef, authzConfig, authServerRef, ...alike } = input.written as FrontSpec;
  const { sessionStorage, replicas, resources, serviceAccount, sessionAffinity, podTemplateSpec } = alike;
  const authServerConfig = authServerRef && authServerOf(authServerRef.name, input);
  return {
    isFront: true,
    groupRef: groupRef ?? { name: '' },
    incomingAuth: {
      // Whose tokens are valid is nowhere said: everybody may connect.
      type: oidcConfigRef === undefined ? 'anonymous' : 'oidc',
      ...(oidcConfigRef && { oidcConfigRef }),
      ...(authzConfig && { authzConfig }),
    },
    ...(authServerConfig && { authServerConfig }),
    config: { aggregation: OWN_NAMES },
    ...(sessionStorage && { sessionStorage }),
    ...(replicas !== undefined && { replicas }),
    ...(resources && { resources }),
    ...(serviceAccount !== undefined && { serviceAccount }),
    ...(sessionAffinity !== undefined && { sessionAffinity }),
    ...(podTemplateSpec && { podTemplateSpec }),
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
