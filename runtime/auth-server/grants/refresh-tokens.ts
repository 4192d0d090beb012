import type { AdapterPayload } from 'oidc-provider';
import type { Fields } from '../../store/index.ts';
import type { Families, Family } from './families.ts';
import { nameOf } from './names.ts';
import type { GrantDeps } from './records.ts';
import { handleOfToken } from './refresh-token-id.ts';
import { sealedAtMs } from '../keys/sealing-keys.ts';

/** A refresh token that was replaced: when, by the clock of the store, and by which answer. */
export interface Spent {
  readonly atMs: number;
  readonly answerId: string;
}

/** A refresh token that a client has presented, and all that is known of it. */
export interface Presented {
  readonly token: string;
  readonly family: Family;
  /** Undefined: it has been replaced. */
  readonly payload: AdapterPayload | undefined;
  /** Known for some minutes after it was replaced. */
  readonly spent: Spent | undefined;
}

export interface NewRefreshToken {
  readonly token: string;
  readonly payload: AdapterPayload;
  readonly seconds: number | undefined;
  /** It replaces another one. */
  readonly isSuccessor: boolean;
}

/**
 * The refresh tokens of a family. One that has been replaced is dropped: it is recognised by its handle, and by not
 * being there, so that a family takes as much room after a year as after a day.
 */
export interface RefreshTokens {
  /** Undefined: never issued here, or nothing of its family is left. One look-up, none for what is no such token. */
  readonly present: (token: string) => Promise<Presented | undefined>;
  /** False: its grant is gone. */
  readonly add: (family: Family, added: NewRefreshToken) => Promise<boolean>;
  /** Of concurrent calls, with whichever `Spent`, the first decides; resolves with its value. Undefined: no family. */
  readonly spend: (presented: Presented, spent: Spent) => Promise<Spent | undefined>;
  readonly remove: (family: Family, token: string) => Promise<void>;
  /** Forgets what was spent before that time, and tokens that were never sent to anybody. */
  readonly tidy: (family: Family, beforeMs: number) => Promise<void>;
}

const ACTIVE = 't:';
const SPENT = 's:';
const NAME_LENGTH = 22;

/** Unanswered refreshes leave a token behind when the replica dies in between; and a grant may have been used twice. */
const MAX_ACTIVE = 64;
/** Fields of the map of a family. */
const MAX_FIELDS = 2_048;

const fieldOf = (kind: string, token: string): string => kind + nameOf('refresh token', token).slice(0, NAME_LENGTH);

export const refreshTokens = ({ store, sealer }: GrantDeps, families: Families): RefreshTokens => ({
  present: async (token) => {
    const handle = handleOfToken(token);
    const family = handle === undefined ? undefined : await families.read(handle);
    if (!family) return undefined;
    const spent = parseSpent(family.fields.get(fieldOf(SPENT, token)));
    const sealed = family.fields.get(fieldOf(ACTIVE, token));
    if (spent || !sealed) return { token, family, payload: undefined, spent };
    const payload = await sealer.open('refresh token', token, sealed);
    // Sealed with a secret that is not listed any more: not honoured, and no sign of theft.
    return payload && { token, family, payload, spent };
  },
  add: async (family, { token, payload, seconds, isSuccessor }) => {
    const sealed = await sealer.seal('refresh token', token, payload);
    const [isAdded] = await Promise.all([
      store.setField(family.key, fieldOf(ACTIVE, token), sealed, MAX_FIELDS),
      families.renew(family, { seconds, isInUse: isSuccessor }),
    ]);
    return isAdded;
  },
  spend: async ({ family, token }, spent) => {
    const text = Buffer.from(`${spent.atMs} ${spent.answerId}`);
    return parseSpent(await store.setFieldIfAbsent(family.key, fieldOf(SPENT, token), text));
  },
  remove: async ({ key }, token) => {
    await store.deleteField(key, fieldOf(ACTIVE, token));
  },
  tidy: async ({ key, fields }, beforeMs) => {
    await Promise.all(leftovers(fields, beforeMs).map((field) => store.deleteField(key, field)));
  },
});

const parseSpent = (text: Buffer | undefined): Spent | undefined => {
  const [, atMs, answerId = ''] = /^(\d+) (.*)$/.exec(text?.toString() ?? '') ?? [];
  return atMs === undefined ? undefined : { atMs: Number(atMs), answerId };
};

const leftovers = (fields: Fields, beforeMs: number): readonly string[] => {
  const spent = [...fields].filter(([field, value]) => {
    return field.startsWith(SPENT) && (parseSpent(value)?.atMs ?? 0) < beforeMs;
  });
  const active = [...fields]
    .filter(([field]) => field.startsWith(ACTIVE))
    .sort(([, a], [, b]) => sealedAtMs(b) - sealedAtMs(a));
  return [...spent, ...active.slice(MAX_ACTIVE)].map(([field]) => field);
};

/** How many tokens of the family were replaced since. */
export const spentSince = ({ fields }: Family, sinceMs: number): number =>
  [...fields].filter(([field, value]) => field.startsWith(SPENT) && (parseSpent(value)?.atMs ?? 0) >= sinceMs).length;

/** What the library has to know of a refresh token that was replaced, as far as it follows from its grant. */
export const replacedPayload = ({ family: { grant }, token }: Presented): AdapterPayload => {
  const { accountId, clientId, jti: grantId, openid, resources } = grant as GrantPayload;
  const scope = [openid?.scope, ...Object.values(resources ?? {})].filter(Boolean).join(' ');
  return { kind: 'RefreshToken', jti: token, accountId, clientId, grantId, scope };
};

interface GrantPayload extends AdapterPayload {
  readonly openid?: { readonly scope?: string };
  readonly resources?: Readonly<Record<string, string>>;
}
