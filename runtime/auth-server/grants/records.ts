import { createHash } from 'node:crypto';
import { type AdapterPayload, errors } from 'oidc-provider';
import { type Fields, keyOf, type Store } from '../../store/index.ts';
import type { Clock } from '../../process/index.ts';
import { groupOf, lifeMs, nameOf, type Quota, userName } from './names.ts';
import { isEnded } from './revoked-users.ts';
import type { Sealer } from './sealed.ts';
import { TemporarilyUnavailable } from './unavailable.ts';

export interface GrantDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly clock: Clock;
}

/** Everything that lasts for minutes and is found by its id alone: sessions, interactions, codes. */
export interface Records {
  readonly find: (model: string, id: string) => Promise<AdapterPayload | undefined>;
  /** Creates the record, or replaces its content: its end, and what it counts as, stay. */
  readonly save: (model: string, id: string, payload: AdapterPayload, seconds?: number) => Promise<void>;
  /** True for one caller, whichever replica asks. */
  readonly consume: (model: string, id: string) => Promise<boolean>;
  readonly remove: (model: string, id: string) => Promise<void>;
}

/** Sealed. */
const PAYLOAD = 'payload';
/** Milliseconds since the epoch. */
const CREATED = 'created';
/** Gone once the record has been consumed. */
const UNUSED = 'unused';
/** What it counts as. */
const QUOTA = 'quota';

/** Bytes of one record: what strangers send is part of an interaction. All of theirs take half of a store in memory. */
const MAX_RECORD_BYTES = 12 * 1024;

export const records = ({ store, sealer, clock }: GrantDeps): Records => {
  const find: Records['find'] = async (model, id) => {
    const fields = await store.readMap(keyOfRecord(model, id));
    const sealed = fields?.get(PAYLOAD);
    const payload = sealed && (await sealer.open(model, id, sealed));
    if (!fields || !payload) return undefined;
    const user = userOf(payload);
    if (user !== undefined && (await isEnded(store, user, Number(fields.get(CREATED))))) return undefined;
    return fields.has(UNUSED) ? payload : { ...payload, consumed: payload['iat'] ?? true };
  };
  const create = async (model: string, id: string, sealed: Buffer, { quota, seconds }: NewRecord): Promise<boolean> => {
    const name = nameOf(model, id);
    const fields: Fields = new Map([
      [PAYLOAD, sealed],
      [CREATED, Buffer.from(`${clock.now()}`)],
      [UNUSED, Buffer.alloc(0)],
      [QUOTA, Buffer.from(quota.of)],
    ]);
    return store.createMap(keyOf(model, name), fields, lifeMs(seconds), groupOf(name, quota));
  };
  return {
    find,
    save: async (model, id, payload, seconds) => {
      const sealed = await sealer.seal(model, id, payload);
      if (sealed.length > MAX_RECORD_BYTES) throw new errors.InvalidRequest('the request is too large');
      const quota = quotaOf(model, payload);
      // Twice, for a record that ends in between.
      for (let attempt = 0; attempt < 2; attempt += 1) {
        if (await create(model, id, sealed, { quota, seconds })) return;
        if (await store.setField(keyOfRecord(model, id), PAYLOAD, sealed)) return;
      }
      throw new TemporarilyUnavailable();
    },
    consume: (model, id) => store.deleteField(keyOfRecord(model, id), UNUSED),
    remove: async (model, id) => {
      const name = nameOf(model, id);
      const of = (await store.readMap(keyOf(model, name)))?.get(QUOTA)?.toString();
      await store.delete(keyOf(model, name), of === undefined ? undefined : groupOf(name, { of, limit: 0 }));
    },
  };
};

interface NewRecord {
  readonly quota: Quota;
  readonly seconds: number | undefined;
}

const keyOfRecord = (model: string, id: string): string => keyOf(model, nameOf(model, id));

/** Whose it is, or will be when a login under way ends. */
const userOf = (payload: AdapterPayload): string | undefined =>
  payload.accountId ?? payload.result?.login?.accountId ?? payload.session?.accountId;

/** Records of one user, of each model. */
const PER_USER = 128;

/**
 * Records of strangers: clients are put into a few groups, so that a client that begins logins in a loop, under its own
 * id, displaces few of those that others have begun.
 */
const CLIENT_GROUPS = 8;
const PER_CLIENT_GROUP = 1_248;

/** When the quota is used up, the oldest record goes (`QuotaGroup`): no record is ever renewed. */
const quotaOf = (model: string, payload: AdapterPayload): Quota => {
  if (payload.accountId !== undefined) return { of: `${model}:${userName(payload.accountId)}`, limit: PER_USER };
  return { of: `${model}:${clientGroup(clientOf(payload))}`, limit: PER_CLIENT_GROUP };
};

const clientOf = ({ clientId, params, authorizations }: AdapterPayload): string => {
  const asked = params?.['client_id'];
  return clientId ?? (typeof asked === 'string' ? asked : (Object.keys(authorizations ?? {})[0] ?? ''));
};

const clientGroup = (client: string): number => (createHash('sha256').update(client).digest()[0] ?? 0) % CLIENT_GROUPS;
