import type { AdapterPayload } from 'oidc-provider';
import { type Fields, keyOf, type QuotaGroup } from '../../store/index.ts';
import { groupOf, lifeMs, nameOf, type Quota, userName } from './names.ts';
import type { GrantDeps } from './records.ts';
import { handleOfGrant } from './refresh-token-id.ts';
import { isEnded } from './revoked-users.ts';

/**
 * A grant with its refresh tokens, in one map: a token is honoured only where the grant is, so that one field ends all
 * of them at once, on all replicas. Frozen as of when it was read.
 */
export interface Family {
  readonly handle: string;
  readonly key: string;
  readonly grant: AdapterPayload;
  readonly fields: Fields;
  /** The time of the store, which is the same for all replicas: when this was read, and what has gone by since. */
  readonly now: () => number;
}

export interface Families {
  /** Undefined: there is no such grant, it was revoked, or its user was. */
  readonly read: (handle: string) => Promise<Family | undefined>;
  /** Creates the grant, or replaces its content. A revoked one stays revoked. */
  readonly save: (grantId: string, grant: AdapterPayload, seconds?: number) => Promise<void>;
  /**
   * A grant lasts as long as its newest refresh token, and is sealed with the secret that this one is sealed with.
   * `isInUse`: it keeps its place when the user has too many.
   */
  readonly renew: (
    family: Family,
    how: { readonly seconds?: number | undefined; readonly isInUse: boolean },
  ) => Promise<void>;
  readonly revoke: (handle: string) => Promise<void>;
  /** Whether the access of its user was ended since the grant was made, as the store has it now. */
  readonly isEnded: (family: Family) => Promise<boolean>;
}

/** Sealed. */
const GRANT = 'grant';
/** Milliseconds since the epoch. */
const CREATED = 'created';
const REVOKED = 'revoked';
/** The name of its user. */
const USER = 'user';

/** Grants of one user. Those that were never refreshed make room for others; where there are none, no more are made. */
const PER_USER = 1_024;

export const families = ({ store, sealer, clock }: GrantDeps): Families => {
  const isUserEnded = ({ grant, fields }: Pick<Family, 'grant' | 'fields'>): Promise<boolean> =>
    isEnded(store, grant.accountId ?? '', Number(fields.get(CREATED)));
  return {
    read: async (handle) => {
      const key = keyOf('grant', nameOf('grant', handle));
      const fields = await store.readMap(key);
      const readAt = clock.now();
      const sealed = fields?.get(GRANT);
      if (!fields || !sealed || fields.has(REVOKED)) return undefined;
      const grant: AdapterPayload | undefined = await sealer.open('grant', handle, sealed);
      if (!grant || (await isUserEnded({ grant, fields }))) return undefined;
      const aheadMs = fields.readAtMs - readAt;
      return { handle, key, grant, fields, now: () => clock.now() + aheadMs };
    },
    save: async (grantId, grant, seconds) => {
      const handle = handleOfGrant(grantId);
      const name = nameOf('grant', handle);
      const sealed = await sealer.seal('grant', handle, grant);
      const user = userName(grant.accountId ?? '');
      const fields: Fields = new Map([
        [GRANT, sealed],
        [CREATED, Buffer.from(`${clock.now()}`)],
        [USER, Buffer.from(user)],
      ]);
      const isNew = await store.createMap(keyOf('grant', name), fields, lifeMs(seconds), groupOf(name, quotaOf(user)));
      if (!isNew) await store.setField(keyOf('grant', name), GRANT, sealed);
    },
    renew: async ({ handle, key, grant, fields }, { seconds, isInUse }) => {
      const sealed = fields.get(GRANT);
      const isStale = sealed !== undefined && !(await sealer.isCurrent(sealed));
      await Promise.all([
        store.touch(key, lifeMs(seconds), isInUse ? groupAt(handle, fields) : undefined),
        isStale && store.setField(key, GRANT, await sealer.seal('grant', handle, grant)),
      ]);
    },
    revoke: async (handle) => {
      await store.setField(keyOf('grant', nameOf('grant', handle)), REVOKED, Buffer.alloc(0));
    },
    isEnded: isUserEnded,
  };
};

const quotaOf = (user: string): Quota => ({ of: `grants:${user}`, limit: PER_USER });

const groupAt = (handle: string, fields: Fields): QuotaGroup =>
  groupOf(nameOf('grant', handle), quotaOf(fields.get(USER)?.toString() ?? ''));
