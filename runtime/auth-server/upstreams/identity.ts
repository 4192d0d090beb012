import type { UpstreamProviderConfig } from '../../config/index.ts';
import { digestOf } from './digest.ts';
import { valueAt } from './json-path.ts';
import type { JsonObject } from './provider-http.ts';
import { type Identity, refused } from './upstream.ts';
import type { UserInfoSettings } from './user-info.ts';

export type IdentityFromToken = NonNullable<NonNullable<UpstreamProviderConfig['oauth2Config']>['identityFromToken']>;

/** Longer texts are no names of users. */
const MAX_CHARACTERS = 1_024;

/** What a provider has told of a user, not read yet. */
interface Told {
  readonly subject: unknown;
  readonly name?: unknown;
  readonly email?: unknown;
  /** OpenID Connect Core §5.1, of that address; some providers write it as a text. */
  readonly emailVerified?: unknown;
}

/**
 * An identity. Throws UpstreamError where there is no subject; `what` says where it was looked for. An address that the
 * provider says it has not verified is left out: users of such providers may write what they like.
 */
export const identityOf = ({ subject, name, email, emailVerified }: Told, what: string): Identity => {
  const id = textOf(subject) ?? numberIn(subject);
  if (id === undefined) throw refused('no_subject', `${what} has no subject`);
  const calledName = textOf(name);
  const mail = is(emailVerified, false) ? undefined : textOf(email);
  return {
    subject: id,
    ...(calledName !== undefined && { name: calledName }),
    ...(mail !== undefined && { email: mail }),
    ...(mail !== undefined && is(emailVerified, true) && { emailVerified: true as const }),
  };
};

const is = (value: unknown, expected: boolean): boolean => value === expected || value === String(expected);

/** A text that is not empty. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= MAX_CHARACTERS ? value : undefined;

/** Many providers number their users. */
const numberIn = (value: unknown): string | undefined => (Number.isSafeInteger(value) ? String(value) : undefined);

/** The first value that is not empty. */
export const firstOf = (object: JsonObject, paths: readonly string[]): unknown =>
  paths
    .map((path) => (Object.hasOwn(object, path) ? object[path] : valueAt(object, path)))
    .find((value) => textOf(value) !== undefined || numberIn(value) !== undefined);

/** Who the answer of a userinfo endpoint says the user is. */
export const identityInAnswer = (
  answer: JsonObject,
  { subjectFields, nameFields, emailFields }: UserInfoSettings['fieldMapping'],
): Identity =>
  identityOf(
    {
      subject: firstOf(answer, subjectFields),
      name: firstOf(answer, nameFields),
      email: firstOf(answer, emailFields),
      emailVerified: answer['email_verified'],
    },
    'the answer of the userinfo endpoint',
  );

/** `identityFromToken` of docs/configuration.md "authServer". The response is trusted as it came over TLS. */
export const identityFromResponse = (response: JsonObject, paths: IdentityFromToken): Identity => {
  const at = (path: string | undefined): unknown => (path === undefined ? undefined : valueAt(response, path));
  const { subjectPath, namePath, emailPath } = paths;
  const found = { subject: at(subjectPath), name: at(namePath), email: at(emailPath) };
  return identityOf(found, 'the token response');
};

/** Where nothing says who the user is: a subject that stands for this very token, and tells nothing about it. */
export const synthesizedIdentity = (provider: string, accessToken: string): Identity => ({
  subject: `token-${digestOf(['synthesized subject', provider, accessToken])}`,
});
