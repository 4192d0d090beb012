import { type Adapter, errors, Provider } from 'oidc-provider';
import { keyOf, partOf, type QuotaGroup, type Store } from '../../store/index.ts';
import { lifeMs, nameOf } from './names.ts';
import type { Records } from './records.ts';
import type { RefreshTokens } from './refresh-tokens.ts';

export interface ProofsDeps {
  readonly store: Pick<Store, 'createMap'>;
  readonly records: Pick<Records, 'find'>;
  readonly tokens: Pick<RefreshTokens, 'present'>;
}

/** An assertion that is valid for longer is refused (RFC 7523 §3, item 4): its record would last as long. */
const MAX_SECONDS = 3_600;

/** The library accepts an assertion for so long after its `exp`, and adds it to the life of the record. */
export const CLOCK_TOLERANCE_SECONDS = 15;

/** Unexpired assertions of one client in requests about one user. */
const PER_CLIENT_AND_USER = 64;

/**
 * The library's model ReplayDetection: the assertions (`private_key_jwt`) that were used. The library calls it once the
 * signature, `aud` and `exp` have been verified. An assertion is recorded where its request presents a code or a
 * refresh token of the client: any other request gets nothing, so an assertion that is shown again in one gives nothing
 * away, and clients that nobody has approved take no room. No record is displaced: a client that has used too many
 * assertions is answered with 503 until some have expired, for this user alone.
 */
export const proofModel = (deps: ProofsDeps): Pick<Adapter, 'find' | 'upsert'> => ({
  // `upsert` finds out in one step: a look-up before it would let two replicas take the same assertion.
  find: async () => undefined,
  upsert: async (id, { iss: clientId = '' }, seconds = Infinity) => {
    if (seconds > MAX_SECONDS + CLOCK_TOLERANCE_SECONDS)
      throw new errors.InvalidClientAuth(`client assertions may be valid for at most ${MAX_SECONDS} seconds`);
    const user = await userInRequest(clientId, deps);
    if (user === undefined) return;
    const name = proofName(clientId, id);
    const isNew = await deps.store.createMap(
      keyOf('proof', name),
      USED,
      lifeMs(seconds),
      groupOf(name, clientId, user),
    );
    if (!isNew) throw new errors.InvalidClientAuth('client assertion tokens must only be used once');
  },
});

/** A map has at least one field. */
const USED: ReadonlyMap<string, Buffer> = new Map([['used', Buffer.alloc(0)]]);

/** Whose code or refresh token of this client the request presents, at the token endpoint or for revocation. */
const userInRequest = async (clientId: string, { records, tokens }: ProofsDeps): Promise<string | undefined> => {
  const { code, refresh_token: refreshToken, token } = Provider.ctx?.oidc?.params ?? {};
  const grants = [
    typeof code === 'string' ? await records.find('AuthorizationCode', code) : undefined,
    typeof refreshToken === 'string' ? (await tokens.present(refreshToken))?.family.grant : undefined,
    typeof token === 'string' ? (await tokens.present(token))?.family.grant : undefined,
  ];
  return grants.find((grant) => grant?.clientId === clientId)?.accountId;
};

/** Begins as the name of its client, so that all of a client are in one part of the store, and counted exactly. */
const proofName = (clientId: string, id: string): string =>
  nameOf('client', clientId).slice(0, 2) + nameOf('proof', JSON.stringify([clientId, id]));

const groupOf = (name: string, clientId: string, user: string): QuotaGroup => ({
  name: `proofs:${nameOf('proofs', JSON.stringify([clientId, user]))}:{${partOf(name)}}`,
  limit: PER_CLIENT_AND_USER,
  displacesNone: true,
});
