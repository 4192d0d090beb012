import * as z from 'zod';
import { checkUniqueNames } from '../../json/index.ts';
import { isRefusal, readRegistration, type Registration, type RegistrationRules } from './registration-metadata.ts';

/** A client by its metadata document (draft-ietf-oauth-client-id-metadata-document-02, here "draft"). */
export interface PublishedClient extends Registration {
  /** Of a client that proves itself with keys (`private_key_jwt`), in the document or at `jwksUri`. */
  readonly jwks: Jwks | undefined;
  readonly jwksUri: string | undefined;
}

/** A JSON Web Key Set (RFC 7517 §5); oidc-provider checks the keys. */
export interface Jwks {
  readonly keys: Record<string, unknown>[];
}

/** Longest URL that is a client id, in characters. */
const MAX_URL_CHARACTERS = 1_024;

/**
 * Whether a client id is the URL of a metadata document: HTTPS with a path, without fragment, user information and dot
 * segments (draft §3), in the one spelling that URL parsers leave as it is.
 */
export const isMetadataDocumentUrl = (clientId: string): boolean => {
  if (clientId.length > MAX_URL_CHARACTERS || !clientId.startsWith('https://')) return false;
  const url = URL.parse(clientId);
  return (
    url?.href === clientId && url.hash === '' && !clientId.includes('#') && url.username === '' && url.password === ''
  );
};

/** No shared secret can be published (draft §4). */
const RULES: RegistrationRules = { redirectUris: 64, authMethods: ['none', 'private_key_jwt'] };

const documentSchema = z.looseObject({
  client_id: z.string(),
  client_secret: z.never().optional(),
  client_secret_expires_at: z.never().optional(),
  jwks_uri: z.string().optional(),
  jwks: z.unknown().optional(),
});

/** Reads a document. A text says to its author why the client is refused. */
export const readMetadataDocument = (url: string, body: Buffer): PublishedClient | string => {
  const { data } = documentSchema.safeParse(jsonIn(body));
  if (!data) return 'it is no JSON object with a client_id and without a client_secret, each member once';
  // Byte for byte (draft §4, RFC 3986 §6.2.1).
  if (data.client_id !== url) return 'its client_id is not the URL that it was fetched from';
  const read = readRegistration(data, RULES);
  if (isRefusal(read)) return read.reason;
  if (read.authMethod === 'none') return { ...read, jwks: undefined, jwksUri: undefined };
  return withKeys(read, data.jwks, data.jwks_uri);
};

const withKeys = (read: Registration, jwks: unknown, jwksUri: string | undefined): PublishedClient | string => {
  if ((jwks === undefined) === (jwksUri === undefined)) return 'private_key_jwt needs either jwks or jwks_uri';
  if (jwksUri !== undefined) return { ...read, jwks: undefined, jwksUri };
  const keys = keySetIn(jwks);
  return keys ? { ...read, jwks: keys, jwksUri: undefined } : 'its jwks is no JSON Web Key Set of public keys';
};

const text = z.string().optional();
const operations = z.array(z.string()).max(16).optional();
const secret = z.never().optional();

/** What is kept of a public key (RFC 7517 §4, RFC 7518 §6, RFC 8037 §2); `pub` is of ML-DSA. */
const PUBLIC = { use: text, key_ops: operations, alg: text, kid: text, crv: text, x: text, y: text, n: text, e: text };

/** Parts of private and shared keys (RFC 7518 §6.2.2, §6.3.2, §6.4.1): a key that shows one proves nothing any more. */
const SECRET = { d: secret, p: secret, q: secret, dp: secret, dq: secret, qi: secret, oth: secret, k: secret };

const keySchema = z.object({ kty: z.string(), ...PUBLIC, pub: text, ...SECRET, priv: secret });

const keySetSchema = z.object({ keys: z.array(keySchema).min(1).max(32) });

/** Undefined: not a JSON Web Key Set that is taken. */
export const keySetIn = (value: unknown): Jwks | undefined => keySetSchema.safeParse(value).data;

/** The value of a JSON text without repeated members; undefined for others. */
export const jsonIn = (body: Buffer): unknown => {
  try {
    checkUniqueNames(body);
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
};
