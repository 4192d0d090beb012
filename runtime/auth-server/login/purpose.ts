/** What a login is for. */
export type Purpose = ForClient | ForAccount;

/** A request of a client waits for it. */
export interface ForClient {
  readonly kind: 'client';
  /** Of the request. */
  readonly interaction: string;
  /** The providers that the request asks for by name: a step-up, in which accounts that are alive are left alone. */
  readonly asked: readonly string[];
}

/** The user links an account, or shows who it is to see the accounts: no client gets anything from it. */
export interface ForAccount {
  readonly kind: 'account';
  /** Where the browser goes afterwards: path and query, below the address of the pages. */
  readonly returnTo: string;
  /** The account to be linked. Absent: the sign-in only shows who the user is. */
  readonly account?: AccountLinking;
}

export interface AccountLinking {
  readonly user: string;
  readonly provider: string;
  /** Sealed: that which led here, and is used up once the account is linked. */
  readonly link: string;
  /** The backends that get tokens of the account, with their origins, as the user was shown them. */
  readonly recipients: readonly (readonly [backend: string, origins: readonly string[]])[];
}
