import { createHash } from 'node:crypto';
import { type Account, type Identity, isMeantFor, type Recipients } from './account-record.ts';
import type { AccountRecords } from './account-records.ts';

/** What a user is asked: whether these backends may get the tokens of these providers. */
export interface ConsentQuestion {
  /** The providers that the user has an account at, with all backends that use them. */
  readonly accounts: readonly AskedAccount[];
  /** Changes with what is asked. */
  readonly digest: string;
}

export interface AskedAccount {
  readonly provider: string;
  /** Whose account it is there. */
  readonly identity: Identity;
  readonly recipients: Recipients;
  /** Those that the user has not agreed to before, by their names or where they are. */
  readonly notAgreed: Recipients;
}

export interface ConsentDeps {
  readonly records: AccountRecords;
  /** The backends that use the provider as they are configured now. */
  readonly recipientsOf: (provider: string) => Recipients;
}

/** Asks users who may get their tokens, and notes that they have agreed to exactly that. */
export const consent = ({ records, recipientsOf }: ConsentDeps) => {
  const question = async (user: string): Promise<ConsentQuestion> => {
    const accounts = (await records.readAll(user)).map(([provider, record]) => {
      const recipients = recipientsOf(provider);
      const notAgreed = [...recipients].filter(([backend, origins]) => !isMeantFor(record, backend, origins));
      return { provider, identity: record.identity, recipients, notAgreed: new Map(notAgreed) };
    });
    return { accounts, digest: digestOf(accounts) };
  };
  return {
    question,
    agree: async (user: string, digest: string): Promise<boolean> => {
      const { accounts, digest: current } = await question(user);
      if (current !== digest) return false;
      for (const { provider, identity, recipients } of accounts)
        await records.change({ user, provider }, (record) =>
          record?.identity.subject === identity.subject ? { ...record, recipients } : undefined,
        );
      return true;
    },
    agreeTo: async (of: Account, recipients: Recipients): Promise<void> => {
      await records.change(of, (record) => record && { ...record, recipients });
    },
  };
};

const digestOf = (accounts: readonly AskedAccount[]): string => {
  const texts = accounts.map(({ provider, identity, recipients }) =>
    JSON.stringify([provider, identity.subject, ...[...recipients].map((each) => JSON.stringify(each)).toSorted()]),
  );
  return createHash('sha256').update(JSON.stringify(texts.toSorted())).digest('base64url');
};
