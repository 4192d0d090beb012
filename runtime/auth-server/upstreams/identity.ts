import type { UpstreamProviderConfig } from '../../config/index.ts';
import { digestOf } from './digest.ts';
import { valueAt } from './json-path.ts';
import type { JsonObject } from './provider-http.ts';
import { type Identity, refused } from './upstream.ts';
import type { UserInfoSettings } from './user-info.ts';

export type IdentityFromToken = NonNullable<NonNullable<UpstreamProviderConfig['oauth2Config']>['identityFromToken']>;

/** Longer texts are no names of users. */
const MAX_CHARACTERS = 1_024;

/** An identity. Throws UpstreamError where there is no subject; `what` says where it was looked for. */
export const identityOf = (
  { subject, name, email }: { readonly subject: unknown; readonly name?: unknown; readonly email?: unknown },
  what: string,
): Identity => {
  const id = textOf(subject) ?? numberIn(subject);
  if (id === undefined) throw refused('no_subject', `${what} has no subject`);
  const [calledName, mail] = [textOf(name), textOf(email)];
  return {
    subject: id,
    ...(calledName !== undefined && { name: calledName }),
    ...(mail !== undefined && { email: mail }),
  };
};

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
