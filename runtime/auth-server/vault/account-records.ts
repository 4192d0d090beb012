import { createHash } from 'node:crypto';
import { VmcpError } from '../../errors.ts';
import type { Store } from '../../store/index.ts';
import { type Account, type AccountRecord, decodeRecord, encodeRecord } from './account-record.ts';
import type { Sealing } from './sealing.ts';
import { tokenUnavailable } from './token-unavailable.ts';

export interface AccountRecordsDeps {
  readonly store: Store;
  readonly sealing: Sealing;
  /** How long the accounts of a user are kept that nobody uses. */
  readonly lifeMs: number;
}

/** The record that is to replace the current one; undefined: it stays as it is. */
export type Change = (current: AccountRecord | undefined) => AccountRecord | undefined;

export interface Changed {
  /** What is stored now; undefined: the account is not known, or was removed. */
  readonly record: AccountRecord | undefined;
  readonly isWritten: boolean;
}

/** What the store holds of a user. */
interface Found {
  /** Undefined: there is no map of this user. */
  readonly fields: ReadonlyMap<string, Buffer> | undefined;
  readonly record: AccountRecord | undefined;
  /** The record is sealed under the current secret. */
  readonly isCurrent: boolean;
}

/** Sealed records are far smaller; a provider that issues larger tokens cannot be used. */
const MAX_RECORD_BYTES = 128 * 1024;

/** Concurrent writers of one account; each is overtaken by another that has succeeded. */
const MOST_ATTEMPTS = 64;

/** A life that every store takes. */
const MAX_LIFE_MS = 365 * 24 * 3_600_000;

/**
 * Accounts in the store: one map for each user, whose name is a digest, with one sealed record for each provider. A
 * record is replaced only while it is the one that the change was decided for, so of concurrent changes none is lost,
 * and what was removed does not come back. Each use of an account renews the life of the map.
 */
export class AccountRecords {
  readonly #deps: AccountRecordsDeps;
  readonly #lifeMs: number;

  constructor(deps: AccountRecordsDeps) {
    this.#deps = deps;
    this.#lifeMs = Math.min(deps.lifeMs, MAX_LIFE_MS);
  }

  /** Throws VmcpError as the store does. A record that cannot be opened is none. */
  async read(of: Account): Promise<AccountRecord | undefined> {
    const { record, isCurrent } = await this.#found(of);
    if (!record || isCurrent) return record;
    // Sealed under an earlier secret. If that fails, the next use tries again.
    const sealedAgain = await this.change(of, (current) => current).catch(() => undefined);
    return sealedAgain ? sealedAgain.record : record;
  }

  /** The records of all providers that the user has an account at; to look at them is no use. */
  async readAll(user: string): Promise<readonly (readonly [provider: string, record: AccountRecord])[]> {
    const fields = (await this.#deps.store.readMap(keyOf(user))) ?? NONE;
    const found = [...fields].map(async ([provider, sealed]) => {
      const { record } = await this.#opened({ user, provider }, sealed);
      return record ? [[provider, record] as const] : [];
    });
    return (await Promise.all(found)).flat();
  }

  /**
   * Replaces the record by what `change` makes of the current one; `change` is called again where another writer was
   * faster. Throws as the store does: the change may then have been made.
   */
  async change(of: Account, change: Change): Promise<Changed> {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      const found = await this.#found(of);
      const record = change(found.record);
      if (!record) return { record: found.record, isWritten: false };
      if (await this.#isWritten(of, found, await this.#sealed(of, record))) return { record, isWritten: true };
    }
    throw tooManyChanges();
  }

  /** Removes the record; resolves with what it was. */
  async remove(of: Account): Promise<AccountRecord | undefined> {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      const { fields, record } = await this.#found(of);
      const sealed = fields?.get(of.provider);
      if (!sealed || (await this.#deps.store.deleteField(keyOf(of.user), of.provider, sealed))) return record;
    }
    throw tooManyChanges();
  }

  /** Removes all accounts of a user, at once. */
  async removeAll(user: string): Promise<void> {
    await this.#deps.store.delete(keyOf(user));
  }

  /** False: another writer was faster. */
  async #isWritten({ user, provider }: Account, { fields }: Found, sealed: Buffer): Promise<boolean> {
    const { store } = this.#deps;
    const key = keyOf(user);
    if (!fields) return store.createMap(key, new Map([[provider, sealed]]), this.#lifeMs);
    const expected = fields.get(provider);
    if (expected) return store.replaceField(key, provider, expected, sealed);
    return (await store.setFieldIfAbsent(key, provider, sealed))?.equals(sealed) ?? false;
  }

  async #sealed(of: Account, record: AccountRecord): Promise<Buffer> {
    const text = encodeRecord(record);
    if (text.length > MAX_RECORD_BYTES) throw tokenUnavailable(of, 'its tokens are too large to be kept');
    return this.#deps.sealing.seal(text, [of.user, of.provider]);
  }

  async #found(of: Account): Promise<Found> {
    const fields = await this.#deps.store.readMap(keyOf(of.user), this.#lifeMs);
    return { fields, ...(await this.#opened(of, fields?.get(of.provider))) };
  }

  async #opened({ user, provider }: Account, sealed: Buffer | undefined): Promise<Omit<Found, 'fields'>> {
    const opened = sealed && (await this.#deps.sealing.open(sealed, [user, provider]));
    return { record: opened && decodeRecord(opened.value), isCurrent: opened?.isCurrent ?? false };
  }
}

const NONE: ReadonlyMap<string, Buffer> = new Map();

const keyOf = (user: string): string => `accounts:${createHash('sha256').update(user).digest('base64url')}`;

const tooManyChanges = (): VmcpError => new VmcpError('overloaded', 'too many changes at one time; try again');
