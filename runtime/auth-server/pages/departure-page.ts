import type { Answer } from '../answer.ts';
import { html } from './html.ts';
import { nameOr } from './names.ts';
import { page } from './page.ts';

export interface DepartureData {
  /** Where the browser goes on to: a URL of this server, of an upstream provider, or of the client. */
  readonly to: string;
  /** Who waits there, for people. */
  readonly name: string | undefined;
}

/**
 * Answers a form, and sends the browser on. A redirect would not do: browsers apply `form-action` of the page with the
 * form to every redirect after it (Content Security Policy Level 3, §6.4.1), so that a client whose callback redirects
 * to a site of its own would be cut off. Here a new navigation begins.
 */
export const departurePage = ({ to, name }: DepartureData): Answer =>
  page({
    title: 'Going on',
    goesTo: to,
    body: html`<h1>Going on to ${nameOr(name, 'the application')}</h1>
      <p>If nothing happens, <a href="${to}">go on</a>. If a program has opened, you can close this window.</p>`,
  });
