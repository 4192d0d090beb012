import { type Claims, invalid, type RefusedToken, type ValidToken } from './verdict.ts';
import type { IssuerSettings } from './settings.ts';

/** Longest subject: it is part of keys in caches, limits and the session store. */
const MAX_SUBJECT_CHARACTERS = 1_024;

/** What subjects of clients without a user begin with (`introspection.ts`), and no subject of a token. */
export const CLIENT_SUBJECT = 'client_id:';

/** What the claims of a token whose origin and lifetime were checked say about its user. */
export const judgeClaims = (
  claims: Claims,
  expiresAt: number | undefined,
  { issuer, scopes, claimMapping }: Pick<IssuerSettings, 'issuer' | 'scopes' | 'claimMapping'>,
): ValidToken | RefusedToken => {
  if (isNoAccessToken(claims)) return invalid('wrong_type', 'this is no access token');
  if (isSenderConstrained(claims))
    return invalid('wrong_type', 'the token is bound to a key, of which a Bearer token shows nothing');
  const used = mapped(claims, claimMapping);
  const subject = claimOf(used, 'sub');
  if (typeof subject !== 'string' || subject === '' || subject.length > MAX_SUBJECT_CHARACTERS)
    return invalid('wrong_claims', 'the token names no subject');
  if (subject.startsWith(CLIENT_SUBJECT))
    return invalid('wrong_claims', 'the subject of the token has a form that is kept for clients');
  const held = scopesOf(used, claimMapping);
  if (!scopes.every((scope) => held.has(scope))) {
    const description = 'the token lacks a scope that is needed here';
    return { kind: 'refused', code: 'insufficient_scope', reason: 'insufficient_scope', description, scopes };
  }
  return { kind: 'valid', issuer, subject, claims: Object.freeze(used), expiresAt };
};

/**
 * Tokens of other kinds that are signed with the same keys (RFC 8725 §2.8): ID tokens (OpenID Connect Core §3.1.3.6,
 * §3.3.2.11: hashes of what was issued beside them), security events and logout tokens (RFC 8417 §2.2: `events`), and
 * those that say what they are in a claim `typ`, as Keycloak's do.
 */
const isNoAccessToken = (claims: Claims): boolean =>
  FOREIGN_CLAIMS.some((name) => Object.hasOwn(claims, name)) || FOREIGN_KINDS.has(claimOf(claims, 'typ'));

const FOREIGN_CLAIMS = ['at_hash', 'c_hash', 's_hash', 'events'];
const FOREIGN_KINDS: ReadonlySet<unknown> = new Set(['ID', 'Refresh', 'Offline', 'Logout']);

/**
 * RFC 9449 §6, RFC 8705 §3: only who proves to have the key may use the token, and of that a Bearer credential has
 * nothing.
 */
const isSenderConstrained = (claims: Claims): boolean => {
  const confirmation = claimOf(claims, 'cnf');
  if (typeof confirmation !== 'object' || confirmation === null) return false;
  return Object.hasOwn(confirmation, 'jkt') || Object.hasOwn(confirmation, 'x5t#S256');
};

/** A mapped claim that the token lacks is absent, whatever else the token has under its name. */
const mapped = (claims: Claims, mapping: Readonly<Record<string, string>>): Claims => {
  const used: Record<string, unknown> = { ...claims };
  for (const [name, from] of Object.entries(mapping)) {
    const value = claimOf(claims, from);
    if (value === undefined) delete used[name];
    else used[name] = value;
  }
  return used;
};

const SCOPE_CLAIMS = ['scope', 'scp'];

/**
 * RFC 8693 §4.2 and RFC 7662 §2.2 have `scope`, separated by spaces; others have `scp`, a text or a list. Where the
 * mapping says which claim holds the scopes, no other one counts: users may have a hand in it.
 */
const scopesOf = (claims: Claims, mapping: Readonly<Record<string, string>>): ReadonlySet<unknown> => {
  const written = SCOPE_CLAIMS.filter((name) => Object.hasOwn(mapping, name));
  const names = written.length > 0 ? written : SCOPE_CLAIMS;
  return new Set(names.map((name) => claimOf(claims, name)).flatMap(listed));
};

const listed = (value: unknown): readonly unknown[] => {
  if (typeof value === 'string') return value.split(' ');
  return Array.isArray(value) ? value : [];
};

const claimOf = (claims: Claims, name: string): unknown => (Object.hasOwn(claims, name) ? claims[name] : undefined);
