import { elementAt, readXml, type XmlElement } from './xml.ts';

/** Temporary credentials of a role session. */
export interface RoleCredential {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

/** What the service has answered. */
export type StsAnswer =
  | { readonly kind: 'credential'; readonly credential: RoleCredential; readonly expiresAt: number }
  /** `code`: a word of the service, such as `AccessDenied`. */
  | { readonly kind: 'refused'; readonly code: string }
  /** `what`: what is missing or wrong, without anything of the answer. */
  | { readonly kind: 'unusable'; readonly what: string };

/** An answer has some kilobytes, most of them the session token. */
const MAX_BYTES = 64 * 1024;

/** The answer of AssumeRoleWithWebIdentity (AWS STS API Reference). */
export const readStsAnswer = (status: number, body: Buffer): StsAnswer => {
  if (body.length > MAX_BYTES) return unusable('too large');
  const root = readXml(body.toString());
  if (!root) return unusable('no XML');
  if (status !== 200) return refusalIn(root);
  if (root.name !== 'AssumeRoleWithWebIdentityResponse') return unusable('no answer to this request');
  return credentialIn((name) => elementAt(root, ['AssumeRoleWithWebIdentityResult', 'Credentials', name])?.text);
};

const unusable = (what: string): StsAnswer => ({ kind: 'unusable', what });

const refusalIn = (root: XmlElement): StsAnswer => {
  const code = root.name === 'ErrorResponse' ? elementAt(root, ['Error', 'Code'])?.text : undefined;
  return code !== undefined && /^[A-Za-z][A-Za-z.]{0,63}$/.test(code)
    ? { kind: 'refused', code }
    : unusable('an error without a code');
};

/** Both are sent in headers. */
const KEY_ID = /^\w{16,128}$/;
const TOKEN = /^[\x21-\x7e]{1,16384}$/;
const SECRET = /^[\x21-\x7e]{1,256}$/;

const credentialIn = (textOf: (name: string) => string | undefined): StsAnswer => {
  const accessKeyId = textOf('AccessKeyId') ?? '';
  const secretAccessKey = textOf('SecretAccessKey') ?? '';
  const sessionToken = textOf('SessionToken') ?? '';
  if (!KEY_ID.test(accessKeyId) || !SECRET.test(secretAccessKey) || !TOKEN.test(sessionToken))
    return unusable('no credentials');
  const expiresAt = timeOf(textOf('Expiration') ?? '');
  if (expiresAt === undefined) return unusable('no time of expiry');
  return { kind: 'credential', credential: { accessKeyId, secretAccessKey, sessionToken }, expiresAt };
};

/** ISO 8601 in UTC, with or without fractions of a second. */
const timeOf = (text: string): number | undefined => {
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(time) ? undefined : time;
};
