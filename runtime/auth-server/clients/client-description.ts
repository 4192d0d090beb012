import type { ClientMetadata } from 'oidc-provider';
import { isMetadataDocumentUrl } from './metadata-document.ts';
import { type Destination, destinationOf } from './redirect-uris.ts';

/** What a user has to know about a client before approving it. */
export interface ClientDescription {
  /** As the client calls itself, which nobody has checked. */
  readonly name: string | undefined;
  /** Host that publishes the client's metadata document; undefined: the client registered itself. */
  readonly publishedBy: string | undefined;
  /** Where the answer to this request goes. */
  readonly destination: Destination;
  /** The answer goes to a program on the user's machine: any program there could have sent the request. */
  readonly isLocalProgram: boolean;
  /** The answer goes to another site than the one that publishes the metadata document. */
  readonly goesElsewhere: boolean;
}

/** `redirectUri`: of the authorization request, which the client was found to have. */
export const describeClient = (
  { client_id, client_name }: Pick<ClientMetadata, 'client_id' | 'client_name'>,
  redirectUri: string,
): ClientDescription => {
  const publishedBy = isMetadataDocumentUrl(client_id) ? new URL(client_id).host : undefined;
  const destination = destinationOf(redirectUri);
  return {
    name: client_name,
    publishedBy,
    destination,
    isLocalProgram: destination.kind !== 'site',
    goesElsewhere: publishedBy !== undefined && destination.kind === 'site' && destination.host !== publishedBy,
  };
};
