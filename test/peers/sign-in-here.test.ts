import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '../../runtime/process/index.ts';
import { type AuthServerGateway, startAuthServer } from '../fixtures/auth-server.ts';
import type { Browser } from '../fixtures/browser.ts';
import { noCertificates } from '../fixtures/certificates.ts';
import { clients, type Resource } from './sign-in-table.ts';

/** The backend is sent the user's token of the second identity provider. */
const outgoingAuth = {
  source: 'inline',
  backends: { a: { type: 'upstream_inject', upstreamInject: { providerName: 'hub' } } },
};

describe('clients of others sign in at the authorization server of the gateway', { skip: noCertificates }, () => {
  const gateways = {} as Record<Resource, AuthServerGateway>;
  let home: string;
  let aheadMs = 0;
  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'sign-in-'));
    const clock = { ...systemClock, now: () => Date.now() + aheadMs };
    const started = async (kind: Resource): Promise<AuthServerGateway> => {
      await newSigningKey(kind);
      return startAuthServer({
        providers: ['corp', 'hub'],
        backend: { tools: ['t'] },
        more: { outgoingAuth },
        deps: { clock },
        authServer: { signingKeyFiles: [keyOf(kind)] },
        ...(kind === 'origin' && { resourcePath: '' }),
      });
    };
    gateways.endpoint = await started('endpoint');
    gateways.origin = await started('origin');
  });
  after(async () => {
    await Promise.all(Object.values(gateways).map((gateway) => gateway.stop()));
    await rm(home, { recursive: true });
  });

  const keyOf = (kind: Resource): string => join(home, `${kind}.pem`);
  const newSigningKey = (kind: Resource): Promise<void> => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    return writeFile(keyOf(kind), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  };

  /** Its key is another one, and the one before verifies nothing any more. */
  const refuseAllTokens = async (kind: Resource): Promise<void> => {
    await newSigningKey(kind);
    // Files are read again when they are this old.
    aheadMs += 3_000;
    await fetch(`${gateways[kind].issuer}/.well-known/jwks.json`);
  };

  for (const [name, { signIn, at = 'endpoint', skip }] of Object.entries(clients))
    test(name, { skip }, async (t) => {
      const gateway = gateways[at];
      const browser = countingBrowser(gateway);
      const client = await signIn({
        url: gateway.running().url,
        home: await mkdtemp(join(home, 'client-')),
        browser,
      });
      t.after(() => client.close());
      assert.match(await client.list(), /a_t/);
      const [first] = await seenIn(gateway, () => client.call('a_t'));
      assert.ok(isOpaque(first), 'the token of the provider, and not that of the client');
      await refuseAllTokens(at);
      const logins = browser.logins();
      const [second] = await seenIn(gateway, () => client.call('a_t'));
      assert.ok(isOpaque(second));
      if (!SIGN_IN_AGAIN.test(name)) assert.equal(browser.logins(), logins, 'the token was refreshed');
    });
});

/** Clients that ask for another login when a token is refused that has not expired by their own clock. */
const SIGN_IN_AGAIN = /^(mcp 2\.3 for Python|Go SDK|rmcp)/;

/** `authorization` of the calls that the backend has got meanwhile. */
const seenIn = async (
  { backend }: AuthServerGateway,
  call: () => Promise<string>,
): Promise<readonly (string | undefined)[]> => {
  const before = backend.requests.length;
  assert.match(await call(), /t \{\}/);
  return backend.requests
    .slice(before)
    .filter(({ method }) => method === 'tools/call')
    .map(({ headers }) => headers.authorization);
};

/** Tokens of the provider are opaque; those of the gateway are JWTs. */
const isOpaque = (authorization = ''): boolean => /^Bearer [\w-]{20,}$/.test(authorization);

/** A user who agrees to everything. */
const countingBrowser = (gateway: AuthServerGateway): Browser & { readonly logins: () => number } => {
  const known = new Set(
    [gateway.issuer, ...gateway.providers.map(({ issuer }) => issuer)].map((url) => new URL(url).origin),
  );
  const browser = gateway.browser();
  const stopAt = ({ origin }: URL): boolean => !known.has(origin);
  let logins = 0;
  return {
    logins: () => logins,
    signIn: async (url) => {
      logins += 1;
      const page = await browser.open(url, { stopAt });
      assert.equal(page.status, 200, page.text);
      return (await browser.press(page, 'approve', { stopAt })).url;
    },
  };
};
