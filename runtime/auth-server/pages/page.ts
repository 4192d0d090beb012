import { createHash } from 'node:crypto';
import type { Answer } from '../answer.ts';
import { Html, html } from './html.ts';
import { STYLE } from './style.ts';

export interface Page {
  /** Default 200. */
  readonly status?: number;
  readonly title: string;
  readonly body: Html;
  /** The browser goes on to this URL by itself. */
  readonly goesTo?: string;
  readonly retryAfterSeconds?: number | undefined;
}

/** A whole page. It has no script, and asks for nothing from anywhere. */
export const page = ({ status = 200, title, body, goesTo, retryAfterSeconds }: Page): Answer => ({
  status,
  headers: {
    ...HEADERS,
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
  },
  body: String(
    html`<!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="robots" content="noindex" />
          ${goesTo === undefined ? undefined : html`<meta http-equiv="refresh" content="0; url=${goesTo}" />`}
          <title>${title}</title>
          ${STYLE_ELEMENT}
        </head>
        <body>
          <main>${body}</main>
        </body>
      </html> `,
  ),
});

/** In one piece: the hash is over every character between the tags. */
const STYLE_ELEMENT = new Html(`<style>${STYLE}</style>`);

/** Only this very style is applied (Content Security Policy Level 3, §8.4). */
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  // A form is sent to this server only, redirects included, as browsers apply it to these, too: `departurePage`.
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; '),
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  // Not no-referrer: a form would then be sent with the header `Origin: null` (Fetch Standard, "Origin header").
  'referrer-policy': 'same-origin',
  'cache-control': 'no-store',
};
