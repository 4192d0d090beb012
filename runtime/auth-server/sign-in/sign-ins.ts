import type { User } from '../../call/index.ts';
import { ENDPOINTS } from '../paths.ts';
import { linkPath } from './account-pages.ts';
import type { TokenVault } from '../vault/vault.ts';
import { LINK_MS, type Links } from './links.ts';
import type { SignInEvents } from './sign-in-events.ts';

type Subject = Pick<User, 'issuer' | 'subject'>;

/** Where a user can sign in at an identity provider, and no other user. */
export interface SignInOffer {
  readonly url: string;
  readonly accountsUrl: string;
  readonly lifeMs: number;
}

/** Sign-ins of users, as those see them who need one. */
export interface SignIns {
  /** Undefined: the user is none of this server's, or it has no such provider. */
  readonly offer: (user: Subject, provider: string) => Promise<SignInOffer | undefined>;
  /** Calls `run` once the user has signed in there, at whichever replica; returns the function that ends it. */
  readonly onSignedIn: (user: Subject, provider: string, run: () => void) => () => void;
  /** Whether the user has no account there that is good. Throws VmcpError where that is not known. */
  readonly isMissing: (user: Subject, provider: string) => Promise<boolean>;
  /** An id that nobody can guess. */
  readonly newId: () => string;
}

export interface SignInsDeps {
  readonly issuer: string;
  readonly signInEvents: SignInEvents;
  readonly entropy: (bytes: number) => Buffer;
  readonly vault: Pick<TokenVault, 'linked'>;
  readonly current: () => {
    readonly links: Links;
    readonly browserBase: string;
    readonly upstreams: ReadonlyMap<string, unknown>;
  };
}

const ID_BYTES = 18;

export const signIns = ({ issuer, signInEvents, entropy, vault, current }: SignInsDeps): SignIns => ({
  offer: async ({ issuer: by, subject }, provider) => {
    const { links, browserBase, upstreams } = current();
    if (by !== issuer || !upstreams.has(provider)) return undefined;
    const url = `${browserBase}${linkPath(await links.make(subject, provider))}`;
    return { url, accountsUrl: `${browserBase}${ENDPOINTS.accounts}`, lifeMs: LINK_MS };
  },
  onSignedIn: ({ subject: user }, provider, run) => signInEvents.onSignedIn({ user, provider }, run),
  isMissing: async ({ issuer: by, subject }, provider) => {
    const linked = by === issuer ? await vault.linked(subject) : [];
    return !linked.some((account) => account.provider === provider && account.state === 'linked');
  },
  newId: () => entropy(ID_BYTES).toString('base64url'),
});
