import { plainText } from '../plain-text.ts';
import { type Html, html } from './html.ts';

/** What a user allows with the scopes that every server has (OpenID Connect Core §5.4, §11). */
const IN_WORDS: Readonly<Record<string, string>> = {
  openid: 'Know your identifier on this server',
  profile: 'Know your name',
  email: 'Know your e-mail address',
  offline_access: 'Stay signed in when you are away, until the access ends or is taken away',
};

const MAX_SCOPE_CHARACTERS = 256;

/** Scopes as a list. Those of other servers have no words here, and are shown as they are. */
export const scopeList = (scopes: readonly string[]): Html =>
  html`<ul>
    <li>Use the tools, prompts and resources of this server in your name, as far as you may yourself</li>
    ${scopes.map((scope) => html`<li>${Object.hasOwn(IN_WORDS, scope) ? IN_WORDS[scope] : scopeAsItIs(scope)}</li>`)}
  </ul>`;

const scopeAsItIs = (scope: string): Html => html`<code><bdi>${plainText(scope, MAX_SCOPE_CHARACTERS)}</bdi></code>`;
