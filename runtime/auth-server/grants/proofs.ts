import { type Adapter, errors, Provider } from 'oidc-provider';
import { keyOf, partOf, type QuotaGroup, type Store } from '../../store/index.ts';
import { lifeMs, nameOf, userName } from './names.ts';
import type { Records } from './records.ts';
import type { RefreshTokens } from './refresh-tokens.ts';

export interface ProofsDeps {
  readonly store: Pick<Store, 'createMap' | 'delete'>;
  readonly records: Pick<Records, 'find'>;
  readonly tokens: Pick<RefreshTokens, 'present'>;
}

/** An assertion that is valid for longer is refused (RFC 7523 §3, item 4): its record would last as long. */
const MAX_SECONDS = 3_600;

/** The library accepts an assertion for so long after its `exp`, and adds it to the life of the record. */
export const CLOCK_TOLERANCE_SECONDS = 15;

/** The clocks of client, replicas and store differ by no more: so long is a record kept beyond the assertion's end. */
const CLOCK_DIFFERENCE_SECONDS = 60;

/** Unexpired assertions of one client in requests about one user. */
const PER_CLIENT_AND_USER = 64;

/** Those of all clients: clients cost nothing. */
const PER_USER = 1_024;

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
    // The tolerance of the library, and that of a client whose clock is ahead.
    if (seconds > MAX_SECONDS + 2 * CLOCK_TOLERANCE_SECONDS)
      throw new errors.InvalidClientAuth(`client assertions may be valid for at most ${MAX_SECONDS} seconds`);
    const user = await userInRequest(clientId, deps);
    if (user === undefined) return;
    const isNew = await recordProof({ clientId, id, user, seconds }, deps);
    if (!isNew) throw new errors.InvalidClientAuth('client assertion tokens must only be used once');
  },
});

/** An assertion that has been verified. */
export interface UsedProof {
  readonly clientId: string;
  readonly id: string;
  /** Whom its request is about. */
  readonly user: string;
  /** Time for which the library accepts it from now on. */
  readonly seconds: number;
}

/** False: it was used before. Throws `overloaded` where the client, or all clients of this user, have used too many. */
export const recordProof = async (proof: UsedProof, { store }: Pick<ProofsDeps, 'store'>): Promise<boolean> => {
  const ttlMs = lifeMs(proof.seconds + CLOCK_DIFFERENCE_SECONDS);
  const [ofClient, ofUser] = [placeOfClient(proof), placeOfUser(proof)];
  const isNew = await store.createMap(ofClient.key, USED, ttlMs, ofClient.group);
  if (!isNew) return false;
  try {
    await store.createMap(ofUser.key, USED, ttlMs, ofUser.group);
  } catch (error) {
    // The request gets nothing. A record that stays takes its room until it expires.
    await store.delete(ofClient.key, ofClient.group).catch(() => false);
    throw error;
  }
  return true;
};

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

interface Place {
  readonly key: string;
  readonly group: QuotaGroup;
}

/** The record. Its name begins as that of its client: all of a client are in one part of the store, counted exactly. */
const placeOfClient = ({ clientId, id, user }: UsedProof): Place => {
  const name = nameIn(nameOf('client', clientId), { clientId, id });
  const ofBoth = nameOf('proofs', JSON.stringify([clientId, user]));
  return { key: keyOf('proof', name), group: groupOf(`proofs:${ofBoth}`, name, PER_CLIENT_AND_USER) };
};

/** A place among those of all clients of the user, which are in one part of the store, too. */
const placeOfUser = ({ clientId, id, user }: UsedProof): Place => {
  const name = nameIn(userName(user), { clientId, id });
  return { key: keyOf('proof-place', name), group: groupOf(`proof-places:${userName(user)}`, name, PER_USER) };
};

const nameIn = (whose: string, { clientId, id }: Pick<UsedProof, 'clientId' | 'id'>): string =>
  whose.slice(0, 2) + nameOf('proof', JSON.stringify([clientId, id]));

const groupOf = (what: string, name: string, limit: number): QuotaGroup => ({
  name: `${what}:{${partOf(name)}}`,
  limit,
  displacesNone: true,
});
