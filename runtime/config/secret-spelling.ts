import * as z from 'zod';
import { filePathSchema } from './file-paths.ts';

/** Fields of an object. */
export type Shape = Readonly<Record<string, z.ZodType>>;

/** The keys of EmbeddedAuthServerConfig that name secrets: references in a resource, absolute paths in the file. */
export interface SecretSpelling<Server = Shape, AclUser = Shape, Tls = Shape, Client = Shape, Registration = Shape> {
  readonly server: Server;
  readonly aclUser: AclUser;
  readonly tls: Tls;
  readonly client: Client;
  readonly registration: Registration;
}

const SIGNING_KEYS =
  'Keys that sign tokens: the first signs, the rest only verify. Without any, a key is made at start and tokens become invalid after a restart.';
const HMAC =
  'Secrets of authorization codes and refresh tokens, at least 32 random bytes each: the first is current, the rest only verify. Without any, one is made at start.';
const CA = 'PEM file with the certificate authorities to trust; those of the system when left out.';
const PASSWORD = 'Password of the store.';
const USERNAME = 'User of the store; password-only authentication when left out.';
const CLIENT_SECRET = 'Client secret; none for public clients with PKCE.';
const INITIAL_TOKEN = 'Initial access token, sent as Bearer credential when registering.';

/** Secrets as resources spell them. `secretRef` is the schema of `{name, key}`. */
export function secretRefs<R extends z.ZodType>(secretRef: R) {
  return {
    server: {
      signingKeySecretRefs: z.array(secretRef).max(8).optional().describe(SIGNING_KEYS),
      hmacSecretRefs: z.array(secretRef).max(8).optional().describe(HMAC),
    },
    aclUser: {
      passwordSecretRef: secretRef.describe(PASSWORD),
      usernameSecretRef: secretRef.optional().describe(USERNAME),
    },
    tls: { caCertSecretRef: secretRef.optional().describe(CA) },
    client: { clientSecretRef: secretRef.optional().describe(CLIENT_SECRET) },
    registration: { initialAccessTokenRef: secretRef.optional().describe(INITIAL_TOKEN) },
  } satisfies SecretSpelling;
}

/** Secrets as the file spells them: every `…Ref` becomes a `…File`, in the same order. */
export const secretFiles = {
  server: {
    signingKeyFiles: z.array(filePathSchema).max(8).optional().describe(SIGNING_KEYS),
    hmacFiles: z.array(filePathSchema).max(8).optional().describe(HMAC),
  },
  aclUser: {
    passwordFile: filePathSchema.describe(PASSWORD),
    usernameFile: filePathSchema.optional().describe(USERNAME),
  },
  tls: { caCertFile: filePathSchema.optional().describe(CA) },
  client: { clientSecretFile: filePathSchema.optional().describe(CLIENT_SECRET) },
  registration: { initialAccessTokenFile: filePathSchema.optional().describe(INITIAL_TOKEN) },
} satisfies SecretSpelling;

/** The file's name for a key of a resource. */
export const FILE_KEY_OF_SECRET_REF = {
  signingKeySecretRefs: 'signingKeyFiles',
  hmacSecretRefs: 'hmacFiles',
  passwordSecretRef: 'passwordFile',
  usernameSecretRef: 'usernameFile',
  caCertSecretRef: 'caCertFile',
  clientSecretRef: 'clientSecretFile',
  initialAccessTokenRef: 'initialAccessTokenFile',
} as const;
