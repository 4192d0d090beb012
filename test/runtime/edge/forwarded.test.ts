import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hostCheck } from '../../../runtime/edge/index.ts';
import { loadConfig } from '../../../runtime/config/index.ts';
import { startBackend } from '../../fixtures/backend.ts';
import { INITIALIZE } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { postAs } from '../../fixtures/post-as.ts';

const { senderOf } = hostCheck({
  allowedHosts: [],
  allowedOrigins: [],
  trustedProxies: ['10.0.0.0/8', '2001:db8::1'],
});

const CLIENT = '203.0.113.7';
const DIRECT = 'vmcp.internal';

interface Case {
  readonly what: string;
  readonly peer?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly address: string;
  readonly host?: string;
  readonly scheme?: string;
}

const cases: readonly Case[] = [
  { what: 'nothing forwarded', headers: {}, address: '10.0.0.1' },
  { what: 'a stranger who forwards', peer: '192.0.2.9', headers: { 'x-forwarded-for': CLIENT }, address: '192.0.2.9' },
  { what: 'an unknown peer', peer: '', headers: { 'x-forwarded-for': CLIENT }, address: '' },
  { what: 'X-Forwarded-For', headers: { 'x-forwarded-for': CLIENT }, address: CLIENT },
  {
    what: 'a peer in the IPv6 form of IPv4',
    peer: '::ffff:10.0.0.1',
    headers: { 'x-forwarded-for': CLIENT },
    address: CLIENT,
  },
  {
    what: 'X-Forwarded-Host',
    headers: { 'x-forwarded-for': CLIENT, 'x-forwarded-host': 'mcp.example.com' },
    address: CLIENT,
    host: 'mcp.example.com',
  },
  {
    what: 'a host alone',
    headers: { 'x-forwarded-host': 'mcp.example.com' },
    address: '10.0.0.1',
    host: 'mcp.example.com',
  },
  { what: 'several trusted proxies', headers: { 'x-forwarded-for': `${CLIENT}, 10.2.0.1, 10.3.0.1` }, address: CLIENT },
  {
    what: 'what the client made up before',
    headers: { 'x-forwarded-for': `127.0.0.1, ${CLIENT}, 10.3.0.1` },
    address: CLIENT,
  },
  { what: 'only proxies', headers: { 'x-forwarded-for': '10.2.0.1, 10.3.0.1' }, address: '10.2.0.1' },
  { what: 'an address that is none', headers: { 'x-forwarded-for': 'localhost' }, address: '10.0.0.1' },
  { what: 'a port', headers: { 'x-forwarded-for': `${CLIENT}:4711` }, address: CLIENT },
  { what: 'IPv6', headers: { 'x-forwarded-for': '2001:db8::7' }, address: '2001:db8::7' },
  { what: 'a trusted IPv6 proxy', headers: { 'x-forwarded-for': `${CLIENT}, 2001:db8::1` }, address: CLIENT },
  {
    what: 'Forwarded',
    headers: { forwarded: `for=${CLIENT};proto=https;host="mcp.example.com:8443", for="10.3.0.1"` },
    address: CLIENT,
    host: 'mcp.example.com:8443',
    scheme: 'https',
  },
  {
    what: 'X-Forwarded-Proto',
    headers: { 'x-forwarded-for': CLIENT, 'x-forwarded-proto': 'HTTPS' },
    address: CLIENT,
    scheme: 'https',
  },
  { what: 'X-Forwarded-Proto alone', headers: { 'x-forwarded-proto': 'https' }, address: '10.0.0.1', scheme: 'https' },
  {
    what: 'X-Forwarded-Proto of a stranger',
    peer: '192.0.2.9',
    headers: { 'x-forwarded-proto': 'https' },
    address: '192.0.2.9',
  },
  { what: 'a scheme that is none', headers: { 'x-forwarded-proto': 'javascript' }, address: '10.0.0.1' },
  {
    what: 'a scheme that the client wrote before the proxy',
    headers: { forwarded: `for=127.0.0.1;proto=https, for=${CLIENT};proto=http` },
    address: CLIENT,
  },
  {
    what: 'both families that differ in the scheme',
    headers: { forwarded: `for=${CLIENT};proto=https`, 'x-forwarded-for': CLIENT },
    address: CLIENT,
  },
  { what: 'Forwarded with IPv6', headers: { forwarded: 'For="[2001:db8::7]:4711"' }, address: '2001:db8::7' },
  { what: 'Forwarded with a comma in quotes', headers: { forwarded: `for=${CLIENT};by="a,b"` }, address: CLIENT },
  {
    what: 'Forwarded with a quote that the client left open',
    headers: { forwarded: `for="127.0.0.1, for="${CLIENT}";host="mcp.example.com"` },
    address: CLIENT,
    host: 'mcp.example.com',
  },
  {
    what: 'Forwarded with an escaped quote that the client left open',
    headers: { forwarded: `for="127.0.0.1\\", for=${CLIENT}` },
    address: CLIENT,
  },
  {
    what: 'Forwarded with escapes, blanks, empty elements and pairs',
    headers: { forwarded: `for=127.0.0.1,, ; For="203\\.0.113.7" ;; by="a\\";\\",b" ; HOST=mcp.example.com ,` },
    address: CLIENT,
    host: 'mcp.example.com',
  },
  {
    what: 'more hops than are looked at',
    headers: { forwarded: `for=${CLIENT}${', for=10.2.0.1'.repeat(32)}` },
    address: '10.2.0.1',
  },
  { what: 'a hidden client', headers: { forwarded: 'for=_hidden' }, address: '10.0.0.1' },
  {
    what: 'a client who forwards before the proxy',
    headers: { forwarded: `for=127.0.0.1;host=evil.example, for=${CLIENT}` },
    address: CLIENT,
  },
  {
    what: 'both families that agree',
    headers: { forwarded: `for=${CLIENT}`, 'x-forwarded-for': CLIENT },
    address: CLIENT,
  },
  {
    what: 'both families that differ',
    headers: { forwarded: 'for=127.0.0.1;host=localhost', 'x-forwarded-for': CLIENT },
    address: '10.0.0.1',
  },
];

describe('the sender of a request through proxies', () => {
  for (const { what, peer = '10.0.0.1', headers, address, host = DIRECT, scheme = 'http' } of cases) {
    test(`with ${what}`, () => {
      assert.deepEqual(senderOf(peer, { host: DIRECT, ...headers }), { address, host, scheme });
    });
  }

  test('is found in time that grows with the header, and no faster', () => {
    const bodies = ['a', '"\\\\', '\\\\', 'for=', '"a', ',', ';', ' ', 'a;', '"\\\\" '];
    const began = performance.now();
    for (let round = 0; round < 10; round += 1)
      for (const body of bodies) {
        const forwarded = body.repeat(15_500 / body.length);
        senderOf('10.0.0.1', { host: DIRECT, forwarded });
        senderOf('10.0.0.1', { host: DIRECT, forwarded: `for="${forwarded}` });
        senderOf('10.0.0.1', { host: DIRECT, 'x-forwarded-for': forwarded });
      }
    // 300 headers in a second; one of them took a third of it.
    assert.ok(performance.now() - began < 2_000);
  });

  test('is the peer where no proxy is trusted', () => {
    const direct = hostCheck({ allowedHosts: [], allowedOrigins: [], trustedProxies: [] });
    const headers = { host: DIRECT, 'x-forwarded-for': CLIENT, forwarded: `for=${CLIENT}` };
    assert.deepEqual(direct.senderOf('10.0.0.1', headers), { address: '10.0.0.1', host: DIRECT, scheme: 'http' });
  });
});

describe('extensions.trustedProxies', () => {
  test('takes addresses and blocks, and nothing else', () => {
    const problems = (trustedProxies: readonly string[]): readonly string[] => {
      const loaded = loadConfig(configFile({}, { extensions: { trustedProxies } }));
      return loaded.ok ? [] : loaded.problems.map(({ path, reason }) => `${path}: ${reason}`);
    };
    assert.deepEqual(problems(['10.0.0.0/8', '::1', 'fd00::/8', '192.0.2.1']), []);
    for (const bad of ['10.0.0.0/33', '10.0.0.999', 'proxy.example', '::1/129', ':::', '']) {
      assert.deepEqual(problems([bad]), ['extensions.trustedProxies[0]: not an address or a CIDR block'], bad);
    }
  });

  test('decides whose host is judged, also when it changes', async (t) => {
    const backend = await startBackend();
    const files = (trustedProxies: readonly string[]) =>
      configFile({ a: backend.url }, { extensions: { trustedProxies, allowedHosts: ['mcp.example.com'] } });
    const running = await startRuntime(files(['127.0.0.0/8']));
    t.after(async () => {
      await running.stop();
      await backend.close();
    });
    const statusFor = async (host: string, forwardedHost: string): Promise<number> =>
      (await postAs(running.url, INITIALIZE, { host, 'x-forwarded-host': forwardedHost })).status;
    assert.equal(await statusFor('rewritten.internal', 'mcp.example.com'), 200);
    assert.equal(await statusFor('mcp.example.com', 'evil.example.com'), 403);
    running.reload(files([]));
    assert.equal(await statusFor('rewritten.internal', 'mcp.example.com'), 403);
    assert.equal(await statusFor('mcp.example.com', 'evil.example.com'), 200);
  });
});
