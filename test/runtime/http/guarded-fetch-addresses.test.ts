import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Resolve } from '../../../runtime/http/addresses.ts';
import type { FetchFailure } from '../../../runtime/http/fetch-error.ts';
import { fetchPolicies } from '../../../runtime/http/fetch-policy.ts';
import type { FetchRequest } from '../../../runtime/http/guarded-fetch.ts';
import { fails, fetchingOfEachTest, LAX, resolvesTo } from '../../fixtures/guarded-fetch.ts';
import { startPlainServer } from '../../fixtures/plain-server.ts';

const fetching = fetchingOfEachTest();
const { open } = fetching;

describe('a literal address that the policy refuses', () => {
  const spellings = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '017700000001',
    '127.0.0.1.',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '0.0.0.0',
  ];
  for (const host of spellings)
    test(`${host} is not contacted`, async () => {
      const { fetch } = open({ addresses: 'public' });
      await assert.rejects(fetch({ url: `http://${host}:${fetching.server.port}/` }), fails('address_refused'));
      assert.equal(fetching.server.sockets.length, 0);
    });

  for (const [url, reason] of [
    [' ', 'invalid_url'],
    ['/token', 'invalid_url'],
    ['https://', 'invalid_url'],
    ['https://[fe80::1%25eth0]/', 'invalid_url'],
    ['ftp://127.0.0.1/', 'invalid_url'],
    ['http://a:b@127.0.0.1/', 'invalid_url'],
    ['http://169.254.169.254/', 'address_refused'],
    ['http://[::ffff:a9fe:a9fe]/', 'address_refused'],
  ] as const)
    test(`"${url}" is refused (${reason}) whatever is allowed`, async () => {
      await assert.rejects(open().fetch({ url }), fails(reason));
    });

  test('plain HTTP to this host is refused under every row but that of token endpoints', async () => {
    const url = fetching.server.origin;
    await assert.rejects(open(fetchPolicies.stranger).fetch({ url }), fails('https_required'));
    await assert.rejects(open(fetchPolicies.issuer).fetch({ url }), fails('https_required'));
    assert.equal((await open(fetchPolicies.token).fetch({ url })).status, 200);
  });
});

describe('a name', () => {
  const refused: readonly (readonly [keyof typeof fetchPolicies | 'lax', readonly string[], FetchFailure])[] = [
    ['stranger', ['127.0.0.1'], 'address_refused'],
    ['stranger', ['::1'], 'address_refused'],
    ['stranger', ['10.0.0.1'], 'address_refused'],
    ['stranger', ['::ffff:10.0.0.1'], 'address_refused'],
    ['stranger', ['64:ff9b::a00:1'], 'address_refused'],
    ['stranger', ['2002:a00:1::1'], 'address_refused'],
    ['stranger', ['fe80::1%lo'], 'address_refused'],
    ['stranger', ['169.254.169.254'], 'address_refused'],
    ['stranger', ['8.8.8.8', '127.0.0.1'], 'address_refused'],
    ['issuer', ['fd00::1'], 'address_refused'],
    ['issuer', ['8.8.8.8', '192.168.0.1'], 'address_refused'],
    ['token', ['169.254.169.254'], 'address_refused'],
    ['token', ['127.0.0.1', '::ffff:169.254.169.254'], 'address_refused'],
    ['lax', ['127.0.0.1', '100.100.100.200'], 'address_refused'],
    ['lax', ['fd00:ec2::254'], 'address_refused'],
  ];
  for (const [row, addresses, reason] of refused)
    test(`that leads to ${addresses.join(' and ')} is refused under the policy "${row}"`, async () => {
      const { resolve, names } = resolvesTo(addresses);
      const { fetch } = open(row === 'lax' ? LAX : fetchPolicies[row], resolve);
      await assert.rejects(fetch({ url: `https://a.example:${fetching.server.port}/` }), fails(reason));
      assert.deepEqual(names, ['a.example']);
      assert.equal(fetching.server.sockets.length, 0);
    });

  for (const addresses of [['10.0.0.1'], ['8.8.8.8'], ['127.0.0.1', '8.8.8.8'], ['0.0.0.0'], ['64:ff9b::7f00:1']])
    test(`that leads to ${addresses.join(' and ')} needs TLS under the policy "token"`, async () => {
      const { fetch } = open(fetchPolicies.token, resolvesTo(addresses).resolve);
      await assert.rejects(fetch({ url: `http://a.example:${fetching.server.port}/` }), fails('https_required'));
      assert.equal(fetching.server.sockets.length, 0);
    });

  test('that leads to loopback needs none', async () => {
    const { fetch } = open(fetchPolicies.token, resolvesTo(['127.0.0.1']).resolve);
    assert.equal((await fetch({ url: `http://a.example.:${fetching.server.port}/` })).status, 200);
    assert.equal(fetching.server.requests[0]?.request.headers.host, `a.example.:${fetching.server.port}`);
  });

  test('is resolved by the system where nothing else is given', async () => {
    assert.equal(
      (await open(fetchPolicies.token).fetch({ url: `http://localhost:${fetching.server.port}/` })).status,
      200,
    );
    await assert.rejects(
      open({ addresses: 'public' }).fetch({ url: `http://localhost:${fetching.server.port}/` }),
      fails('address_refused'),
    );
  });

  test('is resolved once for a connection: the address that was checked is the one that is used', async () => {
    const { resolve, names } = resolvesTo(['127.0.0.1'], ['169.254.169.254']);
    const { fetch } = open({}, resolve);
    await fetch({ url: `http://a.example:${fetching.server.port}/` });
    assert.deepEqual(names, ['a.example']);
    assert.equal(fetching.server.requests.length, 1);
  });

  test('is checked again for each new connection', async () => {
    const { resolve, names } = resolvesTo(['127.0.0.1'], ['169.254.169.254']);
    const { fetch } = open({}, resolve);
    fetching.server.answer((_request, response) => void response.writeHead(200, { connection: 'close' }).end());
    const url = `http://a.example:${fetching.server.port}/`;
    await fetch({ url });
    await assert.rejects(fetch({ url }), fails('address_refused'));
    assert.equal(names.length, 2);
    assert.equal(fetching.server.requests.length, 1);
  });

  test('that cannot be resolved is a network error with the word of the resolver', async () => {
    const unknown: Resolve = (_name, _options, callback) =>
      callback(Object.assign(new Error('getaddrinfo ENOTFOUND a.example'), { code: 'ENOTFOUND' }), []);
    await assert.rejects(open({}, unknown).fetch({ url: 'https://a.example/' }), fails('network_error', 'ENOTFOUND'));
  });
});

describe('a redirect', () => {
  for (const status of [300, 301, 302, 303, 305, 307, 308])
    test(`${status} to another server is refused, and that one is not contacted`, async () => {
      const other = await startPlainServer();
      try {
        fetching.server.answer(
          (_request, response) => void response.writeHead(status, { location: other.origin }).end('see there'),
        );
        const request: FetchRequest = {
          url: fetching.server.origin,
          method: 'POST',
          headers: { authorization: 'Bearer t' },
        };
        await assert.rejects(open().fetch(request), fails('redirected'));
        assert.equal(other.sockets.length, 0);
        assert.equal(fetching.server.requests.length, 1);
      } finally {
        await other.close();
      }
    });

  for (const location of ['http://169.254.169.254/latest/meta-data', 'file:///etc/passwd', '//[::1]/', '/elsewhere'])
    test(`to ${location} is refused`, async () => {
      fetching.server.answer((_request, response) => void response.writeHead(302, { location }).end());
      await assert.rejects(open().fetch({ url: fetching.server.origin }), fails('redirected'));
      assert.equal(fetching.server.requests.length, 1);
    });
});
