import { checkUniqueNames } from '../../json/index.ts';
import type { Clock } from '../../process/index.ts';
import type { Answer } from '../answer.ts';
import { clientMetadata } from './client-metadata.ts';
import type { ServerScopes } from './client-scopes.ts';
import { isRefusal, readRegistration, type Refusal, type RegistrationRules } from './registration-metadata.ts';
import { MAX_CLIENT_ID_CHARACTERS, type SealedClientIds } from './sealed-client-id.ts';

/** A request to `POST /oauth/register`. */
export interface RegistrationRequest {
  /** The header Content-Type. */
  readonly contentType: string | undefined;
  readonly body: Buffer;
  /** Address of the client, as far as trusted proxies tell. */
  readonly address: string | undefined;
}

export interface RegistrationDeps {
  readonly clientIds: SealedClientIds;
  readonly scopes: () => ServerScopes;
  readonly clock: Pick<Clock, 'now'>;
  /** Counts a registration of this address. Milliseconds until it may register again; 0: it may now. */
  readonly waitMs: (address: string | undefined) => Promise<number>;
}

/** Dynamic client registration (RFC 7591 §3). Never throws for what a client has sent. */
export type RegisterClient = (request: RegistrationRequest) => Promise<Answer>;

/** Longest request that is read. */
export const MAX_REGISTRATION_BYTES = 64 * 1024;

/** Those who register by themselves cannot be asked for keys: such clients publish a metadata document. */
const RULES: RegistrationRules = {
  redirectUris: 16,
  authMethods: ['none', 'client_secret_basic', 'client_secret_post'],
};

/** Opens to everybody: a registration costs no memory, and gives no right before a user has approved it. */
export const registerClient = (deps: RegistrationDeps): RegisterClient => {
  const register = async (metadata: unknown): Promise<Answer> => {
    const read = readRegistration(metadata, RULES);
    if (isRefusal(read)) return refused(read);
    const issuedAt = Math.floor(deps.clock.now() / 1000);
    const sealed = await deps.clientIds.seal({ ...read, issuedAt });
    if (!sealed) return refused(TOO_LARGE);
    return { status: 201, headers: HEADERS, body: JSON.stringify(clientMetadata(sealed, deps.scopes())) };
  };
  return async ({ contentType, body, address }) => {
    const waitMs = await deps.waitMs(address);
    if (waitMs > 0) return tooMany(waitMs);
    if (body.length > MAX_REGISTRATION_BYTES) return refused(BODY_TOO_LARGE, 413);
    if (!isJsonType(contentType)) return refused(NOT_JSON, 415);
    const metadata = objectIn(body);
    return metadata ? register(metadata) : refused(NOT_JSON);
  };
};

/** RFC 7591 §3.2.1: the answer holds a secret, or a reason that is worth nothing later. */
const HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store', pragma: 'no-cache' } as const;

const refused = ({ error, reason }: Refusal, status = 400): Answer => ({
  status,
  headers: HEADERS,
  body: JSON.stringify({ error, error_description: reason }),
});

const invalid = (reason: string): Refusal => ({ error: 'invalid_client_metadata', reason });
const NOT_JSON = invalid('the body has to be a JSON object, of the type application/json, with each member once');
const BODY_TOO_LARGE = invalid(`the body is longer than ${MAX_REGISTRATION_BYTES} bytes`);
const TOO_LARGE = invalid(
  `the client id would be longer than ${MAX_CLIENT_ID_CHARACTERS} characters, since it holds redirect_uris, ` +
    'client_name and scope; register fewer or shorter ones',
);

/** Its own code, since RFC 7591 has none and a client must not take it for a mistake in its metadata. */
const tooMany = (waitMs: number): Answer => ({
  status: 429,
  headers: { ...HEADERS, 'retry-after': String(Math.ceil(waitMs / 1000)) },
  body: JSON.stringify({
    error: 'temporarily_unavailable',
    error_description: 'too many registrations; try again later',
  }),
});

const isJsonType = (contentType = ''): boolean => /^application\/json[\t ]*(;|$)/i.test(contentType);

/** Undefined for what is no JSON object, is nested deeply, or has a member twice. */
const objectIn = (body: Buffer): object | undefined => {
  try {
    checkUniqueNames(body);
    const value: unknown = JSON.parse(body.toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
};
