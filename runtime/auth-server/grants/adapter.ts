import { type Adapter, type AdapterFactory, type ClientMetadata, Provider } from 'oidc-provider';
import type { Store } from '../../store/index.ts';
import { ClientError } from '../clients/client-error.ts';
import type { Families } from './families.ts';
import { proofModel } from './proofs.ts';
import type { Records } from './records.ts';
import type { RefreshReuse } from './refresh-reuse.ts';
import { handleOfGrant } from './refresh-token-id.ts';
import type { RefreshTokens } from './refresh-tokens.ts';
import { orUnavailable } from './unavailable.ts';

/** The client of this id, or none. `address`: of who asks. */
export type FindClient = (clientId: string, address?: string) => Promise<ClientMetadata | undefined>;

export interface AdapterParts {
  readonly store: Store;
  readonly tokens: RefreshTokens;
  readonly families: Families;
  readonly reuse: RefreshReuse;
  readonly records: Records;
  readonly findClient: FindClient;
}

/**
 * oidc-provider's adapter: clients are read elsewhere, grants and their refresh tokens are families, all else are
 * records. Faults of the store are answered with `temporarily_unavailable`.
 */
export const grantAdapter =
  (parts: AdapterParts): AdapterFactory =>
  (model) => {
    const adapter = adapterOf(model, parts);
    return {
      find: (id) => orUnavailable(() => adapter.find(id)),
      findByUid: (uid) => orUnavailable(() => adapter.findByUid(uid)),
      findByUserCode: (userCode) => adapter.findByUserCode(userCode),
      upsert: (id, payload, seconds) => orUnavailable(() => adapter.upsert(id, payload, seconds)),
      consume: (id) => orUnavailable(() => adapter.consume(id)),
      destroy: (id) => orUnavailable(() => adapter.destroy(id)),
      revokeByGrantId: (grantId) => orUnavailable(() => adapter.revokeByGrantId(grantId)),
    };
  };

const adapterOf = (model: string, parts: AdapterParts): Adapter => {
  const base = recordAdapter(model, parts);
  switch (model) {
    case 'Client':
      return { ...base, ...clientModel(parts) };
    case 'Grant':
      return { ...base, ...grantModel(parts) };
    case 'RefreshToken':
      return { ...base, ...refreshTokenModel(parts) };
    case 'AuthorizationCode':
      return { ...base, consume: async (code) => parts.reuse.consumeCode(code) };
    case 'ReplayDetection':
      return { ...base, ...proofModel(parts) };
    default:
      return base;
  }
};

const clientModel = ({ findClient, reuse }: AdapterParts): Pick<Adapter, 'find' | 'upsert' | 'destroy'> => ({
  find: (clientId) =>
    findClient(clientId, Provider.ctx?.req.socket.remoteAddress).catch((error: unknown) => {
      if (error instanceof ClientError) reuse.retryAfter(error.retryAfterSeconds);
      throw error;
    }),
  upsert: () => Promise.reject(new TypeError('clients are not kept')),
  destroy: () => Promise.reject(new TypeError('clients are not kept')),
});

const grantModel = ({ families, reuse }: AdapterParts): Pick<Adapter, 'find' | 'upsert' | 'destroy'> => ({
  find: async (grantId) => {
    const grant = await reuse.grantOf(grantId);
    // A grant ends with its family, which lasts as long as its last refresh token.
    return grant && { ...grant, exp: FAR_AWAY };
  },
  upsert: (grantId, grant, seconds) => families.save(grantId, grant, seconds),
  destroy: (grantId) => families.revoke(handleOfGrant(grantId)),
});

/** The year 9999, in seconds. */
const FAR_AWAY = 253_402_300_799;

const refreshTokenModel = ({
  reuse: { model },
}: AdapterParts): Pick<Adapter, 'find' | 'upsert' | 'consume' | 'destroy'> => ({
  find: model.find,
  upsert: model.save,
  consume: async (token) => model.consume(token),
  destroy: model.remove,
});

/** In place of the request that has used a record up, where it does not matter which one has. */
const CONSUMED = 'consumed';

/** The record of a session's second id holds the first one. */
const SESSION_UID = 'SessionUid';

const recordAdapter = (model: string, { records, families }: AdapterParts): Adapter => {
  return {
    find: (id) => records.find(model, id),
    findByUid: async (uid) => {
      const id = (await records.find(SESSION_UID, uid))?.jti;
      return id === undefined ? undefined : records.find(model, id);
    },
    // Device codes have one, and there are none.
    findByUserCode: async () => undefined,
    upsert: async (id, payload, seconds) => {
      const { accountId, uid } = payload;
      await records.save(model, id, payload, seconds);
      // Sessions of strangers are found by their cookie alone.
      if (model === 'Session' && uid !== undefined && accountId !== undefined)
        await records.save(SESSION_UID, uid, { jti: id, accountId }, seconds);
    },
    consume: async (id) => void (await records.redeem(model, id, CONSUMED)),
    destroy: (id) => records.remove(model, id),
    revokeByGrantId: (grantId) => families.revoke(handleOfGrant(grantId)),
  };
};
