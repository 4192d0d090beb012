import type { Destination } from '../clients/redirect-uris.ts';
import { plainText } from '../plain-text.ts';
import { type Html, html } from './html.ts';

/** Longest name of a client, an account or a server that a page shows, in code points. */
const MAX_CHARACTERS = 100;

/** A name that was chosen by somebody else: one line, that has no effect on the text around it. */
export const name = (text: string): Html => html`<bdi>${plainText(text, MAX_CHARACTERS)}</bdi>`;

/** Host names are in punycode, so that no letter of one looks like another. */
export const host = (text: string): Html => html`<strong><bdi>${plainText(text, 255)}</bdi></strong>`;

/** A name, or what stands for it where there is none that can be seen. */
export const nameOr = (text: string | undefined, otherwise: string): Html =>
  plainText(text ?? '', MAX_CHARACTERS) === '' ? html`${otherwise}` : name(text ?? '');

/** In words, where the answer goes. */
export const destinationInWords = (destination: Destination): Html => {
  if (destination.kind === 'site') return host(destination.host);
  if (destination.kind === 'loopback') return html`a program on this computer (${host(destination.host)})`;
  return html`the program on this computer that opens ${host(`${destination.scheme}:`)} links`;
};
