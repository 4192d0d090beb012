import type { Answer } from '../../../../runtime/auth-server/answer.ts';
import type { Destination } from '../../../../runtime/auth-server/clients/redirect-uris.ts';
import { consentPage } from '../../../../runtime/auth-server/pages/consent-page.ts';
import { departurePage } from '../../../../runtime/auth-server/pages/departure-page.ts';
import { errorPage } from '../../../../runtime/auth-server/pages/error-page.ts';
import { linkedAccountsPage } from '../../../../runtime/auth-server/pages/linked-accounts-page.ts';
import { donePage, signInPage } from '../../../../runtime/auth-server/pages/sign-in-page.ts';

export const TOKEN = 'a-token_of-this-form';

/** Every page, with `text` wherever somebody else's text is shown. */
export const pagesWith = (text: string): Readonly<Record<string, Answer>> => {
  const account = { provider: text, name: text, email: text };
  const consent = (destination: Destination, publishedBy: string | undefined): Answer =>
    consentPage({
      server: text,
      client: {
        name: text,
        publishedBy,
        destination,
        isLocalProgram: destination.kind !== 'site',
        goesElsewhere: publishedBy !== undefined && destination.kind === 'site',
      },
      scopes: ['openid', 'offline_access', text],
      accounts: [account],
      action: '/oauth/consent',
      csrfToken: TOKEN,
    });
  return {
    'consent of a site that registered': consent({ kind: 'site', host: text }, undefined),
    'consent of a site with a document elsewhere': consent({ kind: 'site', host: text }, text),
    'consent of a local program': consent({ kind: 'loopback', host: text }, text),
    'consent of a scheme': consent({ kind: 'private-use', scheme: text }, undefined),
    'linked accounts': linkedAccountsPage({
      server: text,
      user: text,
      accounts: [
        { ...account, state: 'linked', since: Date.UTC(2026, 0, 1) },
        { ...account, state: 'needs-sign-in', since: Date.UTC(2026, 0, 1) },
        { provider: text, state: 'not-linked' },
      ],
      action: '/oauth/accounts',
      csrfToken: TOKEN,
    }),
    'sign in': signInPage({
      server: text,
      provider: text,
      user: text,
      action: '/oauth/sign-in',
      csrfToken: TOKEN,
    }),
    done: donePage(text),
    departure: departurePage({ to: '#here', name: text }),
    error: errorPage({ kind: 'internal', detail: text, correlationId: text }),
  };
};
