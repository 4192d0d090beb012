import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { openSse } from '../fixtures/old-client.ts';
import { AUDIENCE, INTROSPECTION_PATH, JWKS_PATH } from '../fixtures/identity-provider.ts';
import { ON_LOOPBACK, type ProtectedOptions, startProtected } from '../fixtures/protected-gateway.ts';
import {
  endsInOrder,
  goesOn,
  hears,
  is,
  startWatched,
  subscribed,
  type WatchedGateway,
  withToken,
} from '../fixtures/watched-gateway.ts';

const OTHER_AUDIENCE = 'https://other.example';

const reload = ({ running }: WatchedGateway, file: ReturnType<WatchedGateway['file']>): void =>
  assert.deepEqual(running.reload(file), { ok: true });

/** Keeps the provider's answers waiting; the returned function lets them go. */
const holding = ({ provider }: Pick<WatchedGateway, 'provider'>): (() => void) => {
  const held = Promise.withResolvers<void>();
  provider.hold = held.promise;
  return () => {
    provider.hold = undefined;
    held.resolve();
  };
};

/** Longer than a check takes that asks nobody, or an issuer that is away. */
const turns = async ({ enter }: WatchedGateway): Promise<void> => {
  for (let each = 0; each < 5; each += 1) await enter(`unknown-${each}`);
};

const incomingAuthOf = ({ provider }: WatchedGateway) => ({
  type: 'oidc',
  oidc: { issuer: provider.issuer, audience: AUDIENCE, clientId: 'vmcp', issuerKeys: { keys: [] }, ...ON_LOOPBACK },
});

/** What makes opaque tokens of a client with a secret known. */
const INTROSPECTING: ProtectedOptions = {
  oidc: ({ introspectionUrl }) => ({ introspectionUrl, clientSecretEnv: 'CLIENT_SECRET' }),
  deps: { environment: (name) => (name === 'CLIENT_SECRET' ? 's3cr3t:/ü' : undefined) },
};

const introspecting = async (t: TestContext) => {
  const gateway = await startWatched(t, INTROSPECTING);
  const { provider } = gateway;
  provider.opaque.set('opaque', { active: true, sub: 'alice', aud: AUDIENCE, scope: 'mcp' });
  const oidc = { introspectionUrl: provider.introspectionUrl, clientSecretEnv: 'CLIENT_SECRET' };
  return { gateway, oidc };
};

describe('authentication that changes twice in a row', () => {
  test('ends what the later change refuses, whatever the earlier one would have kept', async (t) => {
    const gateway = await startWatched(t);
    const { provider, running } = gateway;
    const token = await provider.token();
    const listening = await hears(gateway, token);
    const { stream } = await subscribed(gateway, token);
    const old = await openSse(running.url, withToken(token));
    const letGo = holding(gateway);
    reload(gateway, gateway.file({}));
    await is('the keys are asked for', () => provider.asked.length > 0);
    reload(gateway, gateway.file({ audience: OTHER_AUDIENCE }));
    letGo();
    await Promise.all([endsInOrder(listening), stream.ended, old.ended]);
    await is('nothing is held at the backend', () => gateway.users() === 0);
  });

  test('ends nothing that the later change takes, whatever the earlier one would have ended', async (t) => {
    const gateway = await startWatched(t);
    const { provider } = gateway;
    const keys = { issuerKeys: { keys: [provider.key().publicJwk] } };
    const listening = await hears(gateway, await provider.token());
    const letGo = holding(gateway);
    reload(gateway, gateway.file({ audience: OTHER_AUDIENCE }));
    await is('the keys are asked for', () => provider.asked.length > 0);
    reload(gateway, gateway.file(keys));
    letGo();
    await goesOn(gateway, listening);
    await listening.close();
  });
});

describe('a stream goes on', () => {
  test('where a claim mapping and the policies that read its claims change together', async (t) => {
    const ci = await startProtected();
    t.after(() => ci.stop());
    const gateway = await startWatched(t);
    const keys = { issuerKeys: { keys: [ci.provider.key().publicJwk] } };
    const filed = (issuer: object, policy: string) =>
      gateway.file(
        {},
        {
          incomingAuth: {
            ...incomingAuthOf(gateway),
            authz: { type: 'cedar', policies: [policy] },
          },
          extensions: { issuers: [{ issuer: ci.provider.issuer, audience: AUDIENCE, ...ON_LOOPBACK, ...issuer }] },
        },
      );
    const NAMED = 'permit(principal, action, resource) when { principal.claim_name == "job" };';
    const IN_TEAM = 'permit(principal, action, resource) when { principal.claim_team == "staff" };';
    reload(gateway, filed(keys, NAMED));
    const listening = await hears(gateway, await ci.provider.token({ name: 'job', roles: 'staff' }));
    const letGo = holding(ci);
    reload(gateway, filed({ claimMapping: { team: 'roles' } }, IN_TEAM));
    await is('the keys are asked for', () => ci.provider.asked.length > 0);
    // Before its claims are known by the newer mapping, nothing can be decided.
    await turns(gateway);
    letGo();
    await goesOn(gateway, listening);
    reload(gateway, filed({ claimMapping: { team: 'name' } }, IN_TEAM));
    await endsInOrder(listening);
  });

  test('a minute after a change too, where its token was verified and the issuer is away', async (t) => {
    const { gateway, oidc } = await introspecting(t);
    const { provider, clock } = gateway;
    const listening = await hears(gateway, 'opaque');
    const { stream } = await subscribed(gateway, 'opaque');
    reload(gateway, gateway.file({ ...oidc, scopes: ['mcp'] }));
    await is('it is verified again', () => provider.count(INTROSPECTION_PATH) === 2);
    await goesOn(gateway, listening);
    provider.beAway(true);
    clock.advance(60_000);
    await turns(gateway);
    await goesOn(gateway, listening);
    stream.close();
    await listening.close();
  });

  test('with the token that its client has presented last, while that one is verified again', async (t) => {
    const gateway = await startWatched(t);
    const { provider, clock } = gateway;
    const listening = await hears(gateway, await provider.token({}, { lifeSeconds: 60 }));
    assert.equal((await gateway.enter(await provider.token())).status, 200);
    clock.advance(91_000);
    const letGo = holding(gateway);
    reload(gateway, gateway.file({}));
    await is('the keys are asked for', () => provider.asked.length > 0);
    await goesOn(gateway, listening);
    letGo();
    await turns(gateway);
    await goesOn(gateway, listening);
    await listening.close();
  });
});

describe('a change that is none for the tokens of an issuer', () => {
  const further = {
    issuer: 'https://ci.example',
    audience: AUDIENCE,
    issuerKeys: { keys: [] },
  };
  for (const [what, oidc, more] of [
    ['the advertised scopes', { advertisedScopes: ['x'] }, {}],
    ['the resource', { resource: 'https://mcp.example/team/mcp' }, {}],
    ['the name', {}, { name: 'another' }],
    ['a further issuer', {}, { extensions: { issuers: [further] } }],
  ] as const) {
    test(`leaves its keys and all that is open as they are: ${what}`, async (t) => {
      const gateway = await startWatched(t, { oidc: {} });
      const { provider } = gateway;
      const token = await provider.token();
      const listening = await hears(gateway, token);
      provider.beAway(true);
      reload(gateway, gateway.file(oidc, more));
      await turns(gateway);
      await goesOn(gateway, listening);
      assert.equal((await gateway.enter(await provider.token({ sub: 'bob' }))).status, 200);
      await listening.close();
    });

    test(`leaves what introspection has said of a token as it is: ${what}`, async (t) => {
      const { gateway, oidc: introspection } = await introspecting(t);
      const { provider } = gateway;
      const listening = await hears(gateway, 'opaque');
      provider.beAway(true);
      reload(gateway, gateway.file({ ...introspection, ...oidc }, more));
      await turns(gateway);
      await goesOn(gateway, listening);
      assert.equal((await gateway.enter('opaque')).status, 200);
      await listening.close();
    });
  }

  test('is told to clients all the same', async (t) => {
    const gateway = await startWatched(t);
    reload(gateway, gateway.file({ issuerKeys: { keys: [] }, resource: 'https://mcp.example/new', scopes: ['a'] }));
    const { headers } = await gateway.enter(undefined);
    const challenge = headers.get('www-authenticate') ?? '';
    assert.match(challenge, /scope="a"/);
    assert.match(challenge, /resource_metadata="https:\/\/mcp.example\/.well-known\/oauth-protected-resource\/new"/);
    const metadata = await fetch(new URL('/.well-known/oauth-protected-resource/new', gateway.running.url));
    assert.equal(((await metadata.json()) as Record<string, unknown>)['resource'], 'https://mcp.example/new');
  });

  test('a token that was refused for the lack of a further issuer is taken once that is there', async (t) => {
    const ci = await startProtected();
    t.after(() => ci.stop());
    const gateway = await startWatched(t);
    const keys = { issuerKeys: { keys: [gateway.provider.key().publicJwk] } };
    const token = await ci.provider.token();
    assert.equal((await gateway.enter(token)).status, 401);
    const issuers = [
      {
        issuer: ci.provider.issuer,
        audience: AUDIENCE,
        issuerKeys: { keys: [ci.provider.key().publicJwk] },
        ...ON_LOOPBACK,
      },
    ];
    reload(gateway, gateway.file(keys, { extensions: { issuers } }));
    assert.equal((await gateway.enter(token)).status, 200);
    reload(gateway, gateway.file(keys, {}));
    assert.equal((await gateway.enter(token)).status, 401);
  });
});

test('an issuer’s keys are known under another audience, too, and fetched from another address', async (t) => {
  const gateway = await startWatched(t, { oidc: {} });
  const { provider } = gateway;
  await gateway.enter(await provider.token());
  const before = provider.count(JWKS_PATH);
  reload(gateway, gateway.file({ audience: OTHER_AUDIENCE }));
  assert.equal((await gateway.enter(await provider.token({ aud: OTHER_AUDIENCE }))).status, 200);
  assert.equal((await gateway.enter(await provider.token())).status, 401);
  assert.equal(provider.count(JWKS_PATH), before);
  provider.instead.set('/elsewhere', (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"keys":[]}'),
  );
  reload(gateway, gateway.file({ jwksUrl: `${provider.origin}/elsewhere` }));
  assert.equal((await gateway.enter(await provider.token())).status, 401);
  assert.equal(provider.count('/elsewhere') > 0, true);
});
