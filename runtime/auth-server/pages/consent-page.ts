import type { Answer } from '../answer.ts';
import type { ClientDescription } from '../clients/client-description.ts';
import { plainText } from '../plain-text.ts';
import { accountInWords, type ShownAccount } from './accounts.ts';
import { type Html, html } from './html.ts';
import { destinationInWords, host, name, nameOr } from './names.ts';
import { page } from './page.ts';
import { scopeList } from './scopes.ts';

export interface ConsentData {
  /** Name of this server, for people. */
  readonly server: string;
  readonly client: ClientDescription;
  /** Scopes that the client gets. */
  readonly scopes: readonly string[];
  /** Accounts that the user has signed in to, in the order of the configuration. */
  readonly accounts: readonly ShownAccount[];
  /** Servers behind this one that get tokens of these accounts. */
  readonly recipients?: readonly ShownRecipient[];
  /** Path that the form is sent to: fields `csrf` and `decision` (`approve` or `deny`). */
  readonly action: string;
  /** Bound to the cookie of this browser. */
  readonly csrfToken: string;
}

/** A server that gets a token of the user's account at a provider. */
export interface ShownRecipient {
  readonly provider: string;
  /** Name of the server in the configuration. */
  readonly backend: string;
  /** Where the token, or what is had for it, is sent to. */
  readonly origins: readonly string[];
  /** The user has not agreed to it before. */
  readonly isNew: boolean;
}

/** Asks whether a client may act for the user. The answer to its form is a `departurePage`. */
export const consentPage = (data: ConsentData): Answer => {
  const { server, client, scopes, accounts, recipients = [], action, csrfToken } = data;
  const asker = nameOr(client.name, 'an application without a name');
  return page({
    title: `Allow access to ${plainText(server, 100)}?`,
    body: html`<h1>Allow ${asker} to use ${name(server)}?</h1>
      ${client.name === undefined ? undefined : html`<p><small>The application chose this name itself.</small></p>`}
      <dl>
        <dt>Who it is</dt>
        <dd>${whoItIs(client)}</dd>
        <dt>Who gets the access</dt>
        <dd>${destinationInWords(client.destination)}</dd>
      </dl>
      ${warnings(client)}
      <h2>It will be able to</h2>
      ${scopeList(scopes)} ${accounts.length === 0 ? undefined : accountList(accounts)}
      ${recipients.length === 0 ? undefined : recipientList(recipients)}
      <form method="post" action="${action}">
        <input type="hidden" name="csrf" value="${csrfToken}" />
        <button class="first" name="decision" value="approve">Allow</button>
        <button name="decision" value="deny">Cancel</button>
      </form>`,
  });
};

const whoItIs = ({ publishedBy }: ClientDescription): Html =>
  publishedBy === undefined
    ? html`It registered itself here; nobody has checked who it is.`
    : html`It is published by ${host(publishedBy)}.`;

const warnings = ({ isLocalProgram, goesElsewhere, publishedBy, destination }: ClientDescription): Html | undefined => {
  if (isLocalProgram)
    return warning(
      html`Any program on this computer can ask in this way. Go on only if you have just started to sign in from a
      program on this computer that you trust.`,
    );
  if (!goesElsewhere || publishedBy === undefined) return undefined;
  return warning(
    html`The application is published by ${host(publishedBy)}, and the access goes to
    ${destinationInWords(destination)}. Go on only if you know both.`,
  );
};

const warning = (text: Html): Html => html`<p class="warning"><strong>Take care.</strong> ${text}</p>`;

const accountList = (accounts: readonly ShownAccount[]): Html =>
  html`<h2>With your accounts</h2>
    <ul>
      ${accounts.map((account) => html`<li>${accountInWords(account)}</li>`)}
    </ul>`;

const recipientList = (recipients: readonly ShownRecipient[]): Html =>
  html`<h2>These servers get access to your accounts</h2>
    <ul>
      ${recipients.map(
        ({ provider, backend, origins, isNew }) =>
          html`<li>
            ${name(backend)} at ${origins.map((origin) => html`${host(hostIn(origin))} `)}: your account at
            ${name(provider)}${isNew ? html` <strong>(new)</strong>` : undefined}
          </li>`,
      )}
    </ul>`;

const hostIn = (origin: string): string => URL.parse(origin)?.host ?? origin;
