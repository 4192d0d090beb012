import { createHash } from 'node:crypto';
import { type AdapterPayload, errors, Provider } from 'oidc-provider';
import { networkOf } from '../../http/index.ts';
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
  /** Uses the record up for this request. False: another request has, at whichever replica, or it is gone. */
  readonly redeem: (model: string, id: string, request: string) => Promise<boolean>;
  readonly remove: (model: string, id: string) => Promise<void>;
  /** The record counts as this user's from now on: records of strangers displace it no more. */
  readonly keepFor: (user: string, model: string, id: string) => Promise<void>;
}

/** Sealed. */
const PAYLOAD = 'payload';
/** Milliseconds since the epoch. */
const CREATED = 'created';
/** The request that has used the record up. */
const REDEEMED = 'redeemed';
/** What it counts as. */
const QUOTA = 'quota';

/** Records of this model are begun by strangers, and then kept for who has signed in. */
const KEPT_FOR_USERS = 'Interaction';

/** Bytes of one record: what strangers send is part of an interaction. All of theirs take half of a store in memory. */
const MAX_RECORD_BYTES = 12 * 1024;

/** Who has sent the request in which the library calls. */
const senderOfRequest = (): string | undefined => Provider.ctx?.ip;

export interface RecordsDeps extends GrantDeps {
  /** Address of who sends the request at this moment. */
  readonly sender?: () => string | undefined;
}

export const records = ({ store, sealer, clock, sender = senderOfRequest }: RecordsDeps): Records => {
  const find: Records['find'] = async (model, id) => {
    const found = await store.readMap(keyOfRecord(model, id));
    const fields = found ?? (model === KEPT_FOR_USERS ? await store.readMap(keyOfKept(id)) : undefined);
    const sealed = fields?.get(PAYLOAD);
    const payload = sealed && (await sealer.open(model, id, sealed));
    if (!fields || !payload) return undefined;
    const user = userOf(payload);
    if (user !== undefined && (await isEnded(store, user, Number(fields.get(CREATED))))) return undefined;
    return fields.has(REDEEMED) ? { ...payload, consumed: payload['iat'] ?? true } : payload;
  };
  const create = async (
    { model, id }: { readonly model: string; readonly id: string },
    sealed: Buffer,
    { quota, seconds }: NewRecord,
  ): Promise<boolean> => {
    const name = nameOf(model, id);
    const fields: Fields = new Map([
      [PAYLOAD, sealed],
      [CREATED, Buffer.from(`${clock.now()}`)],
      [QUOTA, Buffer.from(quota.of)],
    ]);
    return store.createMap(keyOf(model, name), fields, lifeMs(seconds), groupOf(name, quota));
  };
  const removeAt = async (name: string, model: string): Promise<void> => {
    const of = (await store.readMap(keyOf(model, name)))?.get(QUOTA)?.toString();
    await store.delete(keyOf(model, name), of === undefined ? undefined : groupOf(name, { of, limit: 0 }));
  };
  return {
    find,
    save: async (model, id, payload, seconds) => {
      const sealed = await sealer.seal(model, id, payload);
      if (sealed.length > MAX_RECORD_BYTES) throw new errors.InvalidRequest('the request is too large');
      const quota = quotaOf(model, payload, networkOf(sender()));
      // Twice, for a record that ends in between.
      for (let attempt = 0; attempt < 2; attempt += 1) {
        if (await create({ model, id }, sealed, { quota, seconds })) return;
        if (await store.setField(keyOfRecord(model, id), PAYLOAD, sealed)) return;
      }
      throw new TemporarilyUnavailable();
    },
    redeem: async (model, id, request) => {
      const by = Buffer.from(request);
      const redeem = (): Promise<Buffer | undefined> => store.setFieldIfAbsent(keyOfRecord(model, id), REDEEMED, by);
      // Once more where its answer was lost: it may have been executed, and then says so.
      const first = await redeem().catch(redeem);
      return first?.equals(by) ?? false;
    },
    remove: async (model, id) => {
      await removeAt(nameOf(model, id), model);
      if (model === KEPT_FOR_USERS) await removeAt(nameOf(KEPT, id), KEPT);
    },
    keepFor: async (user, model, id) => {
      const payload = await find(model, id);
      if (!payload) return;
      const seconds = payload.exp === undefined ? undefined : payload.exp - Math.floor(clock.now() / 1_000);
      const quota = { of: `${model}:${userName(user)}`, limit: PER_USER };
      await create({ model: KEPT, id }, await sealer.seal(model, id, payload), { quota, seconds });
    },
  };
};

interface NewRecord {
  readonly quota: Quota;
  readonly seconds: number | undefined;
}

const keyOfRecord = (model: string, id: string): string => keyOf(model, nameOf(model, id));

/** A second record beside the first one: a map cannot go from one quota group into another. */
const KEPT = `${KEPT_FOR_USERS}OfUser`;
const keyOfKept = (id: string): string => keyOfRecord(KEPT, id);

/** Whose it is, or will be when a login under way ends. */
const userOf = (payload: AdapterPayload): string | undefined =>
  payload.accountId ?? payload.result?.login?.accountId ?? payload.session?.accountId;

/** Records of one user, of each model. */
const PER_USER = 128;

/**
 * Records of strangers: clients and networks are put into a few groups, so that a client that begins logins in a loop,
 * under its own id, and a network that does so under all ids, displace few of those that others have begun.
 */
const CLIENT_GROUPS = 8;
const NETWORK_GROUPS = 4;
const PER_GROUP = 312;

/** When the quota is used up, the oldest record goes (`QuotaGroup`): no record is ever renewed. */
const quotaOf = (model: string, payload: AdapterPayload, network: string): Quota => {
  if (payload.accountId !== undefined) return { of: `${model}:${userName(payload.accountId)}`, limit: PER_USER };
  const group = bucketOf(clientOf(payload), CLIENT_GROUPS) * NETWORK_GROUPS + bucketOf(network, NETWORK_GROUPS);
  return { of: `${model}:${group}`, limit: PER_GROUP };
};

const clientOf = ({ clientId, params, authorizations }: AdapterPayload): string => {
  const asked = params?.['client_id'];
  return clientId ?? (typeof asked === 'string' ? asked : (Object.keys(authorizations ?? {})[0] ?? ''));
};

const bucketOf = (text: string, count: number): number => (createHash('sha256').update(text).digest()[0] ?? 0) % count;
