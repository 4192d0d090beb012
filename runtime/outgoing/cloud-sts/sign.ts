import { createHash, createHmac } from 'node:crypto';
import type { SentText } from '../../json/index.ts';
import type { BackendRequest } from '../fetch.ts';
import { canonicalHeaders, canonicalTarget, type Header, trimmedAll } from './canonical-request.ts';
import type { RoleCredential } from './role-credential.ts';

/** What a signature is for, beside the request. */
export interface SigningScope {
  readonly region: string;
  readonly service: string;
}

/** The part of a request that is signed. */
export interface SignedRequest extends Pick<BackendRequest, 'method' | 'path' | 'headers' | 'body'> {
  /** As in the `Host` header: with the port unless it is the default of the scheme. */
  readonly host: string;
}

/**
 * Header names and values of the request with its signature. It covers method, host, path, query, the hash of the body
 * and all headers but those that something between here and the backend may change.
 */
export const signedHeaders = (
  { method, path, host, headers, body }: SignedRequest,
  credential: RoleCredential,
  { region, service, at }: SigningScope & { readonly at: number },
): readonly string[] => {
  const bodyHash = hashOf(body);
  const time = new Date(at).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const sent: readonly Header[] = [
    // Some signers and services take a tab for a space, others for what it is: no tab is sent.
    ...withoutSignature(headers).map(([name, value]): Header => [name, trimmedAll(value)]),
    ['x-amz-content-sha256', bodyHash],
    ['x-amz-date', time],
    ['x-amz-security-token', credential.sessionToken],
  ];
  const signed = { method, path, headers: [['host', host], ...sent], bodyHash } as const;
  return [...sent.flat(), 'authorization', authorizationOf(signed, credential, { region, service, time })];
};

/** A header whose value cannot be sent, as a character of it is more than a byte; undefined where all can. */
export const unsendableHeader = (headers: readonly string[]): string | undefined => {
  const value = headers.findIndex((each, index) => index % 2 === 1 && /[^\0-\xff]/.test(each));
  return value === -1 ? undefined : headers[value - 1];
};

/** What is hashed of a request. */
export interface HashedRequest {
  readonly method: string;
  /** With the query, as it is sent. */
  readonly path: string;
  readonly headers: readonly Header[];
  readonly bodyHash: string;
}

/**
 * `Authorization` of a request (AWS Signature Version 4, "Create a signed AWS API request"). Header values are hashed
 * as they are sent, one byte for each character; all else of a canonical request is ASCII.
 */
export const authorizationOf = (
  { method, path, headers, bodyHash }: HashedRequest,
  credential: SigningKeys,
  { region, service, time }: SigningScope & { readonly time: string },
): string => {
  const { text, names } = canonicalHeaders(headers);
  const canonical = [method, ...canonicalTarget(path), text, names, bodyHash].join('\n');
  const scope = `${time.slice(0, 8)}/${region}/${service}/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(Buffer.from(canonical, 'latin1'))].join('\n');
  const signature = createHmac('sha256', signingKey(credential, scope)).update(toSign).digest('hex');
  const proof = `Credential=${credential.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return `AWS4-HMAC-SHA256 ${proof}`;
};

type SigningKeys = Pick<RoleCredential, 'accessKeyId' | 'secretAccessKey'>;

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');

/** Without copying a body that is in pieces. */
const hashOf = (body: SentText | undefined): string => {
  const hash = createHash('sha256');
  for (const piece of body === undefined ? [] : 'pieces' in body ? body.pieces : [body]) hash.update(piece);
  return hash.digest('hex');
};

/** A key is good for a day; that of the last scope is kept with the credential. */
const keys = new WeakMap<SigningKeys, { readonly scope: string; readonly key: Buffer }>();

const signingKey = (credential: SigningKeys, scope: string): Buffer => {
  const kept = keys.get(credential);
  if (kept?.scope === scope) return kept.key;
  let key: Buffer = Buffer.from(`AWS4${credential.secretAccessKey}`);
  for (const part of scope.split('/')) key = createHmac('sha256', key).update(part).digest();
  keys.set(credential, { scope, key });
  return key;
};

/** What this strategy sets itself. */
const OWN = new Set(['authorization', 'x-amz-content-sha256', 'x-amz-date', 'x-amz-security-token']);

const withoutSignature = (flat: readonly string[]): readonly Header[] => {
  const headers: Header[] = [];
  for (let index = 0; index < flat.length; index += 2) {
    const [name = '', value = ''] = flat.slice(index, index + 2);
    if (!OWN.has(name.toLowerCase())) headers.push([name, value]);
  }
  return headers;
};
