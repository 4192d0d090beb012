import type { Answer } from '../answer.ts';
import { accountInWords, type ShownAccount } from './accounts.ts';
import { type Html, html } from './html.ts';
import { name, nameOr } from './names.ts';
import { page } from './page.ts';

export interface LinkedAccount extends ShownAccount {
  readonly state: 'linked' | 'needs-sign-in' | 'not-linked';
  /** Milliseconds since the epoch. */
  readonly since?: number | undefined;
}

export interface LinkedAccountsData {
  readonly server: string;
  /** Who is signed in here. */
  readonly user: string | undefined;
  /** One for each upstream provider, in the order of the configuration. */
  readonly accounts: readonly LinkedAccount[];
  /** Path that forms are sent to: fields `csrf`, `provider` and `do` (`sign-in`, `disconnect`, `sign-out`). */
  readonly action: string;
  readonly csrfToken: string;
}

/** Shows a user the accounts that this server acts with. The answer to a form `sign-in` is a `departurePage`. */
export const linkedAccountsPage = (data: LinkedAccountsData): Answer =>
  page({
    title: 'Linked accounts',
    body: html`<h1>Linked accounts</h1>
      <p>${name(data.server)} uses these accounts when tools are called for ${nameOr(data.user, 'you')}.</p>
      <ul class="accounts">
        ${data.accounts.map((account) => accountItem(account, data))}
      </ul>
      <form method="post" action="${data.action}">
        <input type="hidden" name="csrf" value="${data.csrfToken}" />
        <button name="do" value="sign-out">Sign out here</button>
      </form>`,
  });

const accountItem = (account: LinkedAccount, { action, csrfToken }: LinkedAccountsData): Html =>
  html`<li>
    <h2>${accountInWords(account)}</h2>
    <p>${STATES[account.state]} ${sinceInWords(account)}</p>
    <form method="post" action="${action}">
      <input type="hidden" name="csrf" value="${csrfToken}" />
      <input type="hidden" name="provider" value="${account.provider}" />
      ${buttonsOf(account)}
    </form>
  </li>`;

const STATES: Readonly<Record<LinkedAccount['state'], string>> = {
  linked: '',
  'needs-sign-in': 'You have to sign in again.',
  'not-linked': 'Not linked.',
};

const sinceInWords = ({ since }: LinkedAccount): Html | undefined => {
  if (since === undefined) return undefined;
  const time = new Date(since).toISOString();
  return html`Linked since <time datetime="${time}">${time.slice(0, 16).replace('T', ' ')} UTC</time>.`;
};

const buttonsOf = ({ state, provider }: LinkedAccount): Html => {
  const disconnect = html`<button name="do" value="disconnect">Disconnect <bdi>${provider}</bdi></button>`;
  if (state === 'linked') return disconnect;
  const signIn = html`<button class="first" name="do" value="sign-in">Sign in to <bdi>${provider}</bdi></button>`;
  return state === 'not-linked' ? signIn : html`${signIn} ${disconnect}`;
};
