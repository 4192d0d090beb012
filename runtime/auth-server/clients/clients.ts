import type { ClientMetadata } from 'oidc-provider';
import { clientMetadata, commonMetadata } from './client-metadata.ts';
import { isMetadataDocumentUrl } from './metadata-document.ts';
import type { FindPublishedClient } from './metadata-documents.ts';
import { type RegisterClient, registerClient, type RegistrationDeps } from './registration.ts';
import { type SealedClientIdDeps, sealedClientIds } from './sealed-client-id.ts';

/**
 * The client of an id, which is sealed or the URL of a metadata document. `address`: of who asks, where it is known.
 * Undefined: there is none. Throws ClientError where a metadata document cannot be used (401) or cannot be had (503);
 * rejects with what `secrets` rejects with.
 */
export type FindClient = (clientId: string, address?: string) => Promise<ClientMetadata | undefined>;

export interface Clients {
  readonly findClient: FindClient;
  /** Answers `POST /oauth/register`. */
  readonly register: RegisterClient;
}

export type ClientsDeps = SealedClientIdDeps &
  Omit<RegistrationDeps, 'clientIds'> & { readonly findPublished: FindPublishedClient };

/** Clients of one issuer: those that registered, and those that publish a metadata document. Stores nothing. */
export const clients = (issuer: string, deps: ClientsDeps): Clients => {
  const clientIds = sealedClientIds(issuer, deps);
  return {
    findClient: async (clientId, address) => {
      if (!isMetadataDocumentUrl(clientId)) {
        const sealed = await clientIds.open(clientId);
        return sealed && clientMetadata(sealed, deps.scopes());
      }
      const client = await deps.findPublished(clientId, address);
      const metadata = commonMetadata(clientId, client, deps.scopes());
      return client.jwks ? { ...metadata, jwks: client.jwks } : metadata;
    },
    register: registerClient({ ...deps, clientIds }),
  };
};
