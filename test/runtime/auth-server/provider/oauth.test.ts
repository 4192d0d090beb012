import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, test, type TestContext } from 'node:test';
import { commonMetadata } from '../../../../runtime/auth-server/clients/client-metadata.ts';
import { openGrants } from '../../../../runtime/auth-server/grants/grants.ts';
import { signingKeysIn } from '../../../../runtime/auth-server/keys/signing-keys.ts';
import { interactionIn, type OAuth, oauthOf } from '../../../../runtime/auth-server/provider/oauth.ts';
import { oauthProvider } from '../../../../runtime/auth-server/provider/provider.ts';
import { memoryStore } from '../../../../runtime/store/memory-store.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';

const ISSUER = 'https://as.example';
const CLIENT = 'https://agent.example/client.json';
const REDIRECT = 'https://agent.example/callback';
const [CLIENTS_ADDRESS, BROWSERS_ADDRESS] = ['192.0.2.1', '198.51.100.1'];

const newKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

/** The OAuth part alone, and the addresses for which it has looked clients up. */
const started = async (context: TestContext): Promise<{ readonly oauth: OAuth; readonly addresses: unknown[] }> => {
  const clock = frozenClock();
  const store = memoryStore({ clock });
  context.after(() => store.close());
  const addresses: unknown[] = [];
  const scopes = { supported: ['openid'], baseline: [] };
  const grants = openGrants({
    store,
    clock,
    secrets: async () => [Buffer.alloc(32, 'a secret')],
    boundTo: () => ISSUER,
    findClient: async (id, address) => {
      addresses.push(address);
      const metadata = { redirectUris: [REDIRECT], clientName: undefined, scopes: undefined, mayRefresh: true };
      return commonMetadata(id, { ...metadata, authMethod: 'none' }, scopes);
    },
    refreshReuseWindowMs: 0,
    reach: { reachedAtMs: () => 0 },
  });
  const settings = {
    issuer: ISSUER,
    resource: `${ISSUER}/mcp`,
    audience: ISSUER,
    scopesSupported: scopes.supported,
    lifespans: { accessMs: 60_000, codeMs: 60_000, refreshMs: 60_000 },
  };
  const keys = await signingKeysIn([newKey()]);
  const provider = oauthProvider(settings, { keys, grants, profileOf: async () => ({}) });
  return { oauth: oauthOf(provider, settings), addresses };
};

/** The interaction of a request that waits for its user. */
const requested = async ({ exchange }: OAuth): Promise<string> => {
  const query = new URLSearchParams({
    client_id: CLIENT,
    redirect_uri: REDIRECT,
    response_type: 'code',
    scope: 'openid',
    code_challenge: 'x'.repeat(43),
    code_challenge_method: 'S256',
  });
  const path = `/oauth/authorize?${query.toString()}`;
  const answer = await exchange({ method: 'GET', path, address: CLIENTS_ADDRESS });
  return interactionIn(answer) ?? assert.fail(answer.body);
};

describe('where a client is looked up, bounds count it for the address', () => {
  test('of its own request', async (context) => {
    const { oauth, addresses } = await started(context);
    await requested(oauth);
    assert.deepEqual(new Set(addresses), new Set([CLIENTS_ADDRESS]));
  });

  const decisions: readonly (readonly [string, RegExp, (oauth: OAuth, of: string) => ReturnType<OAuth['deny']>])[] = [
    [
      'whose user approves',
      /[?&]code=/,
      (oauth, of) => oauth.approve(of, { user: 'corp|alice', address: BROWSERS_ADDRESS }),
    ],
    [
      'whose user refuses',
      /error=access_denied/,
      (oauth, of) => oauth.deny(of, { why: 'no', address: BROWSERS_ADDRESS }),
    ],
  ];
  for (const [what, answered, decide] of decisions) {
    test(`of the browser ${what}`, async (context) => {
      const { oauth, addresses } = await started(context);
      const interaction = await requested(oauth);
      addresses.length = 0;
      const answer = await decide(oauth, interaction);
      assert.match(answer?.headers['location'] ?? '', answered);
      assert.deepEqual(new Set(addresses), new Set([BROWSERS_ADDRESS]));
    });
  }
});
