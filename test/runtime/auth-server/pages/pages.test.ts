import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { describeClient } from '../../../../runtime/auth-server/clients/client-description.ts';
import { consentPage } from '../../../../runtime/auth-server/pages/consent-page.ts';
import { departurePage } from '../../../../runtime/auth-server/pages/departure-page.ts';
import { errorPage, type FailureKind } from '../../../../runtime/auth-server/pages/error-page.ts';
import { linkedAccountsPage } from '../../../../runtime/auth-server/pages/linked-accounts-page.ts';
import { plainText } from '../../../../runtime/auth-server/plain-text.ts';
import { pagesWith, TOKEN } from './page-samples.ts';

/** What a reader sees of a page, on one line. */
const shown = (body: string): string =>
  body
    .replace(/<head>.*<\/head>/s, '')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll('&#39;', "'")
    .trim();

const consentOf = (client: { client_id?: string; client_name?: string }, redirectUri: string, scopes = ['openid']) =>
  shown(
    consentPage({
      server: 'tools.example.com',
      client: describeClient({ client_id: 'c1-x', ...client }, redirectUri),
      scopes,
      accounts: [],
      action: '/a',
      csrfToken: TOKEN,
    }).body,
  );

describe('every page', () => {
  for (const [name, { headers, body }] of Object.entries(pagesWith('Text'))) {
    test(`keeps everything out that it does not need: ${name}`, () => {
      const [, style = ''] = /<style>([^<]*)<\/style>/.exec(body) ?? [];
      const hash = createHash('sha256').update(style).digest('base64');
      assert.deepEqual(headers, {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': `default-src 'none'; style-src 'sha256-${hash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'same-origin',
        'cache-control': 'no-store',
      });
    });

    test(`has no script and asks for nothing: ${name}`, () => {
      assert.doesNotMatch(body, /<(script|link|img|iframe|object|embed|svg|audio|video|base)\b/i);
      assert.doesNotMatch(body, /\son\w+=|\sstyle=|\ssrc=|javascript:/i);
      assert.equal(body.match(/<style>/g)?.length, 1);
    });

    test(`sends no form without its token: ${name}`, () => {
      const forms = body.split('<form').slice(1);
      for (const form of forms) {
        assert.match(form, /^ method="post" action="\/oauth\//);
        assert.match(form, new RegExp(`<input type="hidden" name="csrf" value="${TOKEN}"`));
      }
    });
  }
});

describe('the consent page', () => {
  test('names the client, the server, and who gets the access', () => {
    const text = consentOf({ client_name: 'Claude' }, 'https://claude.ai/api/mcp/auth_callback');
    assert.match(text, /Allow Claude to use tools\.example\.com\?/);
    assert.match(text, /The application chose this name itself\./);
    assert.match(text, /registered itself here; nobody has checked who it is\./);
    assert.match(text, /Who gets the access claude\.ai/);
    assert.doesNotMatch(text, /Take care/);
  });

  test('names the host of a metadata document', () => {
    const text = consentOf(
      { client_id: 'https://claude.ai/oauth/client', client_name: 'Claude' },
      'https://claude.ai/cb',
    );
    assert.match(text, /published by claude\.ai/);
    assert.doesNotMatch(text, /Take care/);
  });

  test('warns where the answer goes to another site than that of the document', () => {
    const text = consentOf(
      { client_id: 'https://claude.ai/oauth/client', client_name: 'Claude' },
      'https://evil.example/cb',
    );
    assert.match(
      text,
      /Take care\. The application is published by claude\.ai, and the access goes to evil\.example\./,
    );
  });

  test('warns where any program on the machine could be the client', () => {
    for (const uri of ['http://localhost:3118/callback', 'http://127.0.0.1:1/', 'http://[::1]/', 'cursor://x/y']) {
      const text = consentOf({ client_id: 'https://claude.ai/oauth/client', client_name: 'Claude Code' }, uri);
      assert.match(text, /Take care\. Any program on this computer can ask in this way\./, uri);
      assert.match(
        text,
        /Who gets the access (a program on this computer \(|the program on this computer that opens cursor: links)/,
      );
    }
  });

  test('shows hosts in punycode', () => {
    assert.match(consentOf({}, 'https://xn--clade-nza.ai/cb'), /xn--clade-nza\.ai/);
  });

  test('does without a name', () => {
    for (const client_name of ['', '\u200B', '\u202E'])
      assert.match(consentOf({ client_name }, 'https://a.example/'), /Allow an application without a name to use/);
    assert.doesNotMatch(consentOf({}, 'https://a.example/'), /chose this name/);
  });

  test('says in words what the scopes mean, and shows others as they are', () => {
    const text = consentOf({}, 'https://a.example/', [
      'openid',
      'profile',
      'email',
      'offline_access',
      'files.read',
      'constructor',
      '__proto__',
    ]);
    assert.match(text, /Use the tools, prompts and resources of this server in your name/);
    assert.match(
      text,
      /Know your identifier.*Know your name.*Know your e-mail address.*Stay signed in.*files\.read constructor __proto__/,
    );
  });
});

describe('the page of linked accounts', () => {
  const { body } = linkedAccountsPage({
    server: 'tools.example.com',
    user: 'Ada',
    accounts: [
      { provider: 'okta', name: 'Ada', email: 'ada@example.com', state: 'linked', since: Date.UTC(2026, 0, 2, 3, 4) },
      { provider: 'github', state: 'needs-sign-in' },
      { provider: 'slack', state: 'not-linked' },
    ],
    action: '/a',
    csrfToken: TOKEN,
  });

  test('shows whose account each is, since when, and whether it has to be signed in to', () => {
    assert.match(
      shown(body),
      /okta — Ada \(ada@example\.com\) Linked since 2026-01-02 03:04 UTC\. Disconnect okta github You have to sign in again\. Sign in to github Disconnect github slack Not linked\. Sign in to slack/,
    );
  });

  test('has a form for each provider', () => {
    assert.deepEqual(
      body.match(/name="provider" value="\w+"/g),
      ['okta', 'github', 'slack'].map((name) => `name="provider" value="${name}"`),
    );
  });
});

describe('the error page', () => {
  const kinds: readonly (readonly [FailureKind, number])[] = [
    ['unknown-client', 400],
    ['client-unavailable', 503],
    ['redirect-uri', 400],
    ['invalid-request', 400],
    ['expired', 400],
    ['other-browser', 400],
    ['provider-refused', 400],
    ['provider-unavailable', 503],
    ['rate-limited', 429],
    ['unavailable', 503],
    ['internal', 500],
  ];
  for (const [kind, status] of kinds) {
    test(`of ${kind} says what has happened, what to do, and by which number it is found`, () => {
      const answer = errorPage({ kind, detail: 'the detail', correlationId: '7f3a', retryAfterSeconds: 10 });
      assert.equal(answer.status, status);
      assert.equal(answer.headers['retry-after'], '10');
      assert.match(shown(answer.body), /^.{20,}\. the detail Number of this error: 7f3a$/);
    });
  }
});

test('a departure goes on by itself, and by a link', () => {
  const { status, headers, body } = departurePage({ to: 'https://a.example/cb?code=1&state="x"', name: 'A' });
  assert.equal(status, 200);
  assert.equal(headers['location'], undefined);
  assert.match(
    body,
    /<meta http-equiv="refresh" content="0; url=https:\/\/a\.example\/cb\?code=1&amp;state=&quot;x&quot;"/,
  );
  assert.match(body, /<a href="https:\/\/a\.example\/cb\?code=1&amp;state=&quot;x&quot;">/);
});

test('whatever the texts are, the tags of a page stay the same', () => {
  const tagsOf = (body: string): string => body.replaceAll(/"[^"]*"/g, '""').replaceAll(/>[^<]*</g, '><');
  const usual = pagesWith('Text');
  const nasty = fc.constantFrom(
    '"',
    "'",
    '`',
    '<',
    '>',
    '&',
    '</title>',
    '</style>',
    '<script>',
    '-->',
    ']]>',
    '{{',
    '${',
    '\u0000',
    '\u2028',
    '=',
    '/',
    ' ',
    'a',
  );
  const text = fc.oneof(
    fc.array(nasty, { maxLength: 20 }).map((parts) => `a${parts.join('')}`),
    fc.string({ unit: 'binary' }).map((some) => `a${some}`),
  );
  fc.assert(
    fc.property(text, (some) => {
      for (const [name, { body }] of Object.entries(pagesWith(some)))
        assert.equal(tagsOf(body), tagsOf(usual[name]?.body ?? ''), name);
    }),
    { numRuns: 300 },
  );
});

describe('a text of a stranger', () => {
  const texts: readonly (readonly [string, string, string])[] = [
    ['is one line', ' a\r\n\t b\u2028c ', 'a b c'],
    ['does not turn what is around it', 'a\u202Eb\u2066c\u200Fd\u061C', 'abcd'],
    ['has nothing that cannot be seen', 'P\u200Ba\u00ADy\u2060P\uFEFFa\uFE0Fl\u{E0041}\u3164\u2800', 'PayPal'],
    ['has no controls', 'a\u0000\u001B[31mb\u007F\u0085', 'a[31mb'],
    ['has no half characters', 'a\uD800b\uDC00', 'ab'],
    ['is not drawn over other lines', `a${'\u0301'.repeat(50)}`, `a${'\u0301'.repeat(4)}`],
    ['keeps the letters of all languages', 'Ünïcödé 日本語 हिन्दी עברית 😀', 'Ünïcödé 日本語 हिन्दी עברית 😀'],
  ];
  for (const [what, text, plain] of texts) test(what, () => assert.equal(plainText(text, 100), plain));

  test('is cut where it is too long, between characters', () => {
    assert.equal(plainText('😀'.repeat(200), 3), '😀😀…');
    assert.equal(plainText('abc', 3), 'abc');
    assert.equal(plainText(`${'\u200B'.repeat(1_000_000)}a`, 3), '…');
  });
});
