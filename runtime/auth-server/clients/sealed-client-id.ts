import { createHmac } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { type Clock, seal, SEAL_BYTES, unseal } from '../../process/index.ts';
import { currentKey, HEAD_BYTES, headOf, keyNamedBy, type SealingKey, sealingKeys } from '../keys/sealing-keys.ts';
import { deriveKey, type Secrets } from '../keys/secrets.ts';
import { ClientError } from './client-error.ts';
import type { Registration } from './registration-metadata.ts';

/** A client id that holds its registration: nothing has to be stored, and nothing can be lost. */
export interface SealedClient {
  readonly clientId: string;
  readonly registration: RegisteredClient;
  /** Of a confidential client: follows from the id, and lives as long as the id can be opened. */
  readonly clientSecret: string | undefined;
}

export interface RegisteredClient extends Registration {
  /** Seconds since the epoch. */
  readonly issuedAt: number;
}

export interface SealedClientIds {
  /** Undefined: the id would be longer than `MAX_CLIENT_ID_CHARACTERS`. Rejects where there are no secrets. */
  readonly seal: (registration: RegisteredClient) => Promise<SealedClient | undefined>;
  /**
   * Undefined: not an id of this issuer under any of the secrets, or not whole. Throws ClientError (503) where it was
   * sealed a short while ago with a secret that has not reached this replica yet.
   */
  readonly open: (clientId: string) => Promise<SealedClient | undefined>;
}

export interface SealedClientIdDeps {
  /** The current secret first, which seals; each opens. */
  readonly secrets: Secrets;
  readonly clock: Pick<Clock, 'now'>;
  /** Whether other replicas seal, too, maybe with a secret that this one does not have yet. */
  readonly isShared: boolean;
  /** So many random bytes. */
  readonly nonce: (bytes: number) => Buffer;
}

/**
 * Ids are in the query of authorization requests and in every access token, so they have to fit into lines of 8 KiB
 * beside everything else.
 */
export const MAX_CLIENT_ID_CHARACTERS = 2_000;

/** The form of the id: changes with the layout of the bytes, the document or the dictionary. */
const PREFIX = 'c1-';

/** `issuer` is sealed in: an id of another issuer is not opened, even under the same secrets. */
export const sealedClientIds = (issuer: string, deps: SealedClientIdDeps): SealedClientIds => {
  const { secrets, clock, isShared, nonce } = deps;
  const keys = sealingKeys('client id', { secrets, boundTo: () => issuer });
  const sealedWith = ({ key }: SealingKey, clientId: string, registration: RegisteredClient): SealedClient => ({
    clientId,
    registration,
    clientSecret: registration.authMethod === 'none' ? undefined : secretFor(key, clientId),
  });
  return {
    seal: async (registration) => {
      const current = currentKey(await keys());
      const head = headOf(current, clock.now());
      const sealed = seal(packed(registration), { key: current.key, as: boundTo(head) }, nonce);
      const clientId = `${PREFIX}${Buffer.concat([head, sealed]).toString('base64url')}`;
      return clientId.length > MAX_CLIENT_ID_CHARACTERS ? undefined : sealedWith(current, clientId, registration);
    },
    open: async (clientId) => {
      const bytes = bytesOf(clientId);
      if (!bytes) return undefined;
      const key = keyNamedBy(await keys(), bytes, clock.now());
      if (key === 'on its way') {
        if (isShared) throw new ClientError(503, ON_ITS_WAY, RETRY_SECONDS);
        return undefined;
      }
      const registration = key && opened(key, bytes);
      return registration && sealedWith(key, clientId, registration);
    },
  };
};

const ON_ITS_WAY =
  'the client has registered with a key that has not reached this replica of the server yet; try again';
const RETRY_SECONDS = 10;

const boundTo = (head: Buffer): Buffer => Buffer.concat([Buffer.from(PREFIX), head]);

const secretFor = (key: Buffer, clientId: string): string =>
  createHmac('sha256', deriveKey(key, 'client secret')).update(clientId).digest('base64url');

/** Undefined for what is no id. An id has one spelling: base64url that decodes to the same bytes is another id. */
const bytesOf = (clientId: string): Buffer | undefined => {
  if (!clientId.startsWith(PREFIX) || clientId.length > MAX_CLIENT_ID_CHARACTERS) return undefined;
  const text = clientId.slice(PREFIX.length);
  const bytes = Buffer.from(text, 'base64url');
  const isWhole = bytes.length > HEAD_BYTES + SEAL_BYTES && bytes.toString('base64url') === text;
  return isWhole ? bytes : undefined;
};

const opened = ({ key }: SealingKey, bytes: Buffer): RegisteredClient | undefined => {
  const as = boundTo(bytes.subarray(0, HEAD_BYTES));
  const document = unseal(bytes.subarray(HEAD_BYTES), { key, as });
  return document && unpacked(document);
};

/** Texts that registrations repeat, the commonest last (RFC 1951 §2): ids are shorter by a third. */
const DICTIONARY = Buffer.from(
  'vscode://windsurf://cursor://anysphere.cursor-mcp/oauth/callback.read.write https://www.googleapis.com/auth/' +
    'https://insiders.vscode.dev/redirect https://chatgpt.com/connector_platform_oauth_redirect' +
    'https://claude.ai/api/mcp/auth_callback"MCP CLI Proxy","Visual Studio Code","ChatGPT","Cursor","Claude Code"' +
    ',"openid profile email offline_access",["http://127.0.0.1:33418/","https://vscode.dev/redirect"' +
    ',["http://127.0.0.1:/oauth/callback"]["http://localhost:/callback"]]',
);

const MAX_DOCUMENT_BYTES = 64 * 1024;

/** In this order: numbers stand for these in ids that are in use, so entries are only ever added. */
const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const;

/** Members in a fixed order, without names; 0 stands for what is absent. */
const packed = (registration: RegisteredClient): Buffer => {
  const { issuedAt, authMethod, mayRefresh, clientName = 0, scopes, redirectUris } = registration;
  const method = AUTH_METHODS.indexOf(authMethod);
  const document = JSON.stringify([
    issuedAt,
    method,
    mayRefresh ? 1 : 0,
    clientName,
    scopes?.join(' ') ?? 0,
    redirectUris,
  ]);
  return deflateRawSync(document, { level: 9, dictionary: DICTIONARY });
};

type Packed = readonly [number, number, 0 | 1, string | 0, string | 0, readonly string[]];

/** Only what `packed` has made and the seal has kept gets here, so the cast holds. */
const unpacked = (document: Buffer): RegisteredClient => {
  const text = inflateRawSync(document, { dictionary: DICTIONARY, maxOutputLength: MAX_DOCUMENT_BYTES }).toString();
  const [issuedAt, method, mayRefresh, clientName, scopes, redirectUris] = JSON.parse(text) as Packed;
  return {
    issuedAt,
    authMethod: AUTH_METHODS[method] ?? 'none',
    mayRefresh: mayRefresh === 1,
    clientName: clientName === 0 ? undefined : clientName,
    scopes: scopes === 0 ? undefined : scopes.split(' '),
    redirectUris,
  };
};
