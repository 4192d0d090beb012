import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../runtime/start.ts';
import { answerStatus, type FixtureBackend } from '../fixtures/backend.ts';
import type { IdentityProvider } from '../fixtures/identity-provider.ts';
import { openWith, type RelayingGateway, startRelaying } from '../fixtures/relaying-gateway.ts';
import { scraped } from '../fixtures/scraped.ts';
import { problemsOf } from './config/files.ts';

const RELAYED = 'vmcp-relayed-authorization';

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe('a server that knows its users, in front of a proxy that asks nobody who is calling', () => {
  let all: RelayingGateway;
  let remote: FixtureBackend;
  let provider: IdentityProvider;
  let proxy: Running;
  let gateway: Running;

  beforeEach(async () => {
    all = await startRelaying();
    ({ remote, provider, proxy, gateway } = all);
  });
  afterEach(() => all.stop());

  const credentials = () => remote.requests.map(({ headers }) => headers.authorization);
  const ofCalls = () =>
    remote.requests.filter(({ method }) => method === 'tools/call').map(({ headers }) => headers.authorization);

  test('each user arrives at the remote server with their own token, in every exchange', async () => {
    const users = await Promise.all(['alice', 'bob'].map((sub) => provider.token({ sub })));
    const clients = await Promise.all(users.map((token) => openWith(gateway.url, bearer(token))));
    for (const request of [...clients, ...clients]) {
      assert.match((await request('tools/list')).text, /proxy_echo/);
      assert.match((await request('tools/call', { name: 'proxy_echo' })).text, /"result"/);
    }
    const [alice, bob] = users.map((token) => `Bearer ${token}`);
    assert.deepEqual(ofCalls(), [alice, bob, alice, bob]);
    // The checks of the proxy itself go without.
    assert.deepEqual(new Set(credentials()), new Set([undefined, alice, bob]));
    assert.ok(remote.requests.every(({ headers }) => headers[RELAYED] === undefined));
  });

  test('a session at the remote server is of one token alone', async () => {
    const users = await Promise.all(['alice', 'bob'].map((sub) => provider.token({ sub })));
    for (const token of users) {
      const request = await openWith(gateway.url, bearer(token));
      await request('tools/call', { name: 'proxy_echo' });
    }
    const owners = new Map<unknown, Set<unknown>>();
    for (const { headers } of remote.requests.filter(({ method }) => method?.startsWith('tools/'))) {
      const id = headers['mcp-session-id'];
      owners.set(id, (owners.get(id) ?? new Set()).add(headers.authorization));
    }
    for (const tokens of owners.values()) assert.equal(tokens.size, 1);
  });

  test('what a client of the proxy means for the proxy itself is not passed on', async () => {
    const token = await provider.token();
    const request = await openWith(proxy.url, bearer(token));
    const answer = await request('tools/call', { name: 'echo' });
    assert.match(answer.text, /unknown_name/);
    assert.deepEqual(new Set(credentials()), new Set([undefined]));
  });

  test('a token of nobody’s making has neither the session nor the lists of the user it names', async () => {
    const token = await provider.token({ sub: 'alice' });
    const real = { [RELAYED]: `Bearer ${token}` };
    const request = await openWith(proxy.url, real);
    assert.equal((await request('tools/call', { name: 'echo' })).status, 200);
    const [head = '', claims = ''] = token.split('.');
    const forged = { [RELAYED]: `Bearer ${head}.${claims}.AAAA` };
    assert.equal((await request('tools/call', { name: 'echo' }, forged)).status, 404);
    assert.equal((await request('tools/call', { name: 'echo' }, {})).status, 404);
  });

  test('a token that the remote server refuses is refused to the runtime that sent it, and never to its client', async () => {
    const token = await provider.token();
    const atProxy = await openWith(proxy.url, { [RELAYED]: `Bearer ${token}` });
    const client = await openWith(gateway.url, bearer(token));
    await client('tools/list');
    remote.set({ on: ({ recorded }) => (recorded.method === 'tools/call' ? answerStatus(401) : undefined) });
    assert.equal((await atProxy('tools/call', { name: 'echo' })).status, 401);
    const answer = await client('tools/call', { name: 'proxy_echo' });
    assert.equal(answer.status, 200);
    assert.match(answer.text, /credential_unavailable/);
    assert.doesNotMatch(answer.text, new RegExp(token.slice(-20)));
  });

  test('each refusal of a token is counted, as those of other strategies are', async () => {
    const client = await openWith(gateway.url, bearer(await provider.token()));
    await client('tools/list');
    remote.set({ on: ({ recorded }) => (recorded.method === 'tools/call' ? answerStatus(401) : undefined) });
    for (let call = 0; call < 2; call += 1) await client('tools/call', { name: 'proxy_echo' });
    const counted = async (running: Running, backend: string) => {
      const labels = `vmcp_outgoing_strategy="token_relay",vmcp_backend_name="${backend}"`;
      const name = `vmcp_credential_refused_total{${labels}} `;
      return (await scraped(running, name)).map((line) => line.slice(name.length));
    };
    assert.deepEqual([await counted(proxy, 'remote'), await counted(gateway, 'proxy')], [['2'], ['2']]);
  });

  test('the token may go in a header of its own', async () => {
    proxy.reload(all.proxyFile({ type: 'token_relay', tokenRelay: { headerName: 'X-Token' } }));
    const token = await provider.token();
    const request = await openWith(gateway.url, bearer(token));
    await request('tools/call', { name: 'proxy_echo' });
    const call = remote.requests.find(({ method }) => method === 'tools/call');
    assert.deepEqual([call?.headers['x-token'], call?.headers.authorization], [`Bearer ${token}`, undefined]);
  });
});

test('the token goes in no header that the connection, MCP or another runtime has', () => {
  const reasons = (headerName: string) =>
    problemsOf({
      outgoingAuth: { source: 'inline', default: { type: 'token_relay', tokenRelay: { headerName } } },
    }).map(({ path, reason }) => `${path}: ${reason}`);
  for (const name of ['Host', 'Mcp-Session-Id', 'Vmcp-Relayed-Authorization'])
    assert.deepEqual(reasons(name), [
      `outgoingAuth.default.tokenRelay.headerName: ${name} belongs to the connection or to MCP`,
    ]);
  assert.deepEqual(reasons('X-Token'), []);
});

test('a server that checks tokens relays none that it has not checked', () => {
  const oidc = { issuer: 'https://idp.example', audience: 'a', clientId: 'a' };
  const [problem] = problemsOf({ incomingAuth: { type: 'oidc', oidc, relaysCredentials: true } });
  assert.match(problem?.reason ?? '', /relaysCredentials is for servers that ask no caller for a token/);
});
