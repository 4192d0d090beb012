import type { Answer } from '../answer.ts';
import { plainText } from '../plain-text.ts';
import { type Html, html } from './html.ts';
import { host, name, nameOr } from './names.ts';
import { page } from './page.ts';

export interface SignInData {
  readonly server: string;
  /** The upstream provider where the user has to sign in. */
  readonly provider: string;
  /** Who is signed in here; the account is linked with this user. */
  readonly user: string | undefined;
  /** Servers that get tokens of the account, and where they are. */
  readonly recipients?: readonly { readonly backend: string; readonly origins: readonly string[] }[];
  /** Path that the form is sent to: fields `csrf` and `do` (`sign-in` or `cancel`). */
  readonly action: string;
  readonly csrfToken: string;
}

/** Asks a user to sign in at one upstream provider. The answer to its form is a `departurePage`. */
export const signInPage = (data: SignInData): Answer =>
  page({
    title: `Sign in to ${plainText(data.provider, 63)}`,
    body: html`<h1>Sign in to ${name(data.provider)}</h1>
      <p>${name(data.server)} will use your account there for ${nameOr(data.user, 'you')}.</p>
      ${recipientList(data.recipients ?? [])}
      <p>Go on only if you have just asked for this.</p>
      <form method="post" action="${data.action}">
        <input type="hidden" name="csrf" value="${data.csrfToken}" />
        <button class="first" name="do" value="sign-in">Sign in</button>
        <button name="do" value="cancel">Not now</button>
      </form>`,
  });

const recipientList = (recipients: NonNullable<SignInData['recipients']>): Html | undefined =>
  recipients.length === 0
    ? undefined
    : html`<p>These servers get access to it:</p>
        <ul>
          ${recipients.map(
            ({ backend, origins }) =>
              html`<li>${name(backend)} at ${origins.map((origin) => html`${host(hostIn(origin))} `)}</li>`,
          )}
        </ul>`;

const hostIn = (origin: string): string => URL.parse(origin)?.host ?? origin;

/** Tells a user that nothing is left to do here. `accountsPath`: of the page of linked accounts. */
export const donePage = (what: string, accountsPath?: string): Answer =>
  page({
    title: 'Done',
    body: html`<h1>Done</h1>
      <p>${plainText(what, 200)}</p>
      <p>You can close this window and go back to your application.</p>
      ${accountsPath === undefined ? undefined : html`<p><a href="${accountsPath}">Linked accounts</a></p>`}`,
  });
