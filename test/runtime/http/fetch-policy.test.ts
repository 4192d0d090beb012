import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FetchFailure } from '../../../runtime/http/fetch-error.ts';
import { addressRefusal, fetchPolicies, ownersPolicy, urlRefusal } from '../../../runtime/http/fetch-policy.ts';

const { issuer, token, stranger } = fetchPolicies;
const laxIssuer = ownersPolicy('issuer', { insecureAllowHttp: true, allowPrivateAddresses: true });
const laxToken = ownersPolicy('token', { insecureAllowHttp: true });

/** Spellings of addresses that are not public, as a URL may hold them. */
const PRIVATE_SPELLINGS = [
  'https://127.0.0.1/',
  'https://127.1/',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0x7f.0x0.0x0.0x1/',
  'https://0177.0.0.1/',
  'https://017700000001/',
  'https://127.0.0.1./',
  'https://①②⑦.⓪.⓪.①/',
  'https://127。0。0。1/',
  'https://127.0.0.1%2e/',
  'https://%31%32%37.0.0.1/',
  'https:\\\\127.0.0.1\\',
  'https:127.0.0.1/',
  ' https://127.0.\t0.1/',
  'https://0/',
  'https://0.0.0.0/',
  'https://10.1/',
  'https://0xa.0.0.1/',
  'https://192.168.0.1/',
  'https://0300.0250.1/',
  'https://100.64.0.1/',
  'https://198.18.0.1/',
  'https://255.255.255.255/',
  'https://[::]/',
  'https://[::1]/',
  'https://[0:0:0:0:0:0:0:1]/',
  'https://[::127.0.0.1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[::ffff:0:127.0.0.1]/',
  'https://[64:ff9b::10.0.0.1]/',
  'https://[64:ff9b:1::a00:1]/',
  'https://[2002:a00:1::]/',
  'https://[2001:0:5ef5:79fd::1]/',
  'https://[fc00::1]/',
  'https://[fec0::1]/',
  'https://[ff02::1]/',
];

/** Spellings of link-local and metadata addresses. */
const LINK_LOCAL_SPELLINGS = [
  'https://169.254.169.254/',
  'https://2852039166/',
  'https://0xa9fea9fe/',
  'https://0251.0376.0251.0376/',
  'https://169.254.43518/',
  'https://169.254.169.254./',
  'https://[fe80::1]/',
  'https://[::169.254.169.254]/',
  'https://[::ffff:169.254.169.254]/',
  'https://[::ffff:a9fe:a9fe]/',
  'https://[64:ff9b::a9fe:a9fe]/',
  'https://[64:ff9b:1::a9fe:a9fe]/',
  'https://[2002:a9fe:a9fe::]/',
  'https://[fd00:ec2::254]/',
  'https://100.100.100.200/',
  'https://168.63.129.16/',
];

describe('a URL with a literal address', () => {
  for (const url of PRIVATE_SPELLINGS)
    test(`${JSON.stringify(url)} is refused where only public addresses may be fetched`, () => {
      assert.equal(urlRefusal(stranger, new URL(url)), 'address_refused');
      assert.equal(urlRefusal(issuer, new URL(url)), 'address_refused');
    });

  for (const url of PRIVATE_SPELLINGS)
    test(`${JSON.stringify(url)} may be fetched where private addresses are allowed`, () => {
      assert.equal(urlRefusal(laxIssuer, new URL(url)), undefined);
      assert.equal(urlRefusal(token, new URL(url)), undefined);
    });

  for (const url of LINK_LOCAL_SPELLINGS)
    test(`${url} is refused whatever is allowed`, () => {
      for (const policy of [stranger, issuer, laxIssuer, token, laxToken])
        assert.equal(urlRefusal(policy, new URL(url)), 'address_refused');
    });

  for (const url of [
    'https://8.8.8.8/',
    'https://[2606:4700::1]/',
    'https://[64:ff9b::8.8.8.8]/',
    'https://a.example/',
  ])
    test(`${url} may be fetched under every policy, as far as it tells`, () => {
      for (const policy of [stranger, issuer, token]) assert.equal(urlRefusal(policy, new URL(url)), undefined);
    });

  // These are no URLs at all.
  for (const text of ['https://[fe80::1%25eth0]/', 'https://[::ffff:127.0.0.1', 'https://256.0.0.1/', 'https://'])
    test(`${text} cannot be written`, () => assert.equal(URL.canParse(text), false));
});

describe('the protocol of a URL', () => {
  const rows: readonly (readonly [string, Parameters<typeof urlRefusal>[0], FetchFailure | undefined])[] = [
    ['http://a.example/', stranger, 'https_required'],
    ['http://a.example/', issuer, 'https_required'],
    ['http://127.0.0.1/', issuer, 'https_required'],
    ['http://a.example/', ownersPolicy('issuer', { insecureAllowHttp: true }), undefined],
    ['http://8.8.8.8/', ownersPolicy('issuer', { insecureAllowHttp: true }), undefined],
    ['http://127.0.0.1/', ownersPolicy('issuer', { insecureAllowHttp: true }), 'address_refused'],
    ['http://127.0.0.1/', ownersPolicy('issuer', { allowPrivateAddresses: true }), 'https_required'],
    ['http://10.0.0.1/', laxIssuer, undefined],
    // Of a name this is told when it is resolved.
    ['http://a.example/', token, undefined],
    ['http://127.0.0.1/', token, undefined],
    ['http://[::1]:8080/', token, undefined],
    ['http://[::ffff:127.0.0.1]/', token, undefined],
    ['http://8.8.8.8/', token, 'https_required'],
    ['http://10.0.0.1/', token, 'https_required'],
    ['http://0.0.0.0/', token, 'https_required'],
    ['http://[64:ff9b::127.0.0.1]/', token, 'https_required'],
    ['http://[::127.0.0.1]/', token, 'https_required'],
    ['http://10.0.0.1/', laxToken, undefined],
    ['http://169.254.169.254/', token, 'address_refused'],
  ];
  for (const [url, policy, refusal] of rows)
    test(`${url} is ${refusal ?? 'allowed'} where plain HTTP goes ${policy.plainHttp}, to ${policy.addresses} addresses`, () =>
      assert.equal(urlRefusal(policy, new URL(url)), refusal));

  for (const url of [
    'ftp://a.example/',
    'file:///etc/passwd',
    'data:,x',
    'javascript:0',
    'ws://a.example/',
    'blob:https://a.example/x',
  ])
    test(`${url} is refused`, () => {
      for (const policy of [stranger, laxIssuer, laxToken])
        assert.equal(urlRefusal(policy, new URL(url)), 'invalid_url');
    });

  for (const url of [
    'https://user@a.example/',
    'https://user:secret@a.example/',
    'https://:secret@a.example/',
    'https://8.8.8.8%2f@127.0.0.1/',
  ])
    test(`${url} is refused for its user info`, () => {
      for (const policy of [stranger, laxIssuer, laxToken])
        assert.equal(urlRefusal(policy, new URL(url)), 'invalid_url');
    });
});

describe('the address of a name', () => {
  const rows: readonly (readonly [string, string, keyof typeof fetchPolicies, FetchFailure | undefined])[] = [
    ['https:', '8.8.8.8', 'stranger', undefined],
    ['https:', '10.0.0.1', 'stranger', 'address_refused'],
    ['https:', '::ffff:10.0.0.1', 'stranger', 'address_refused'],
    ['https:', 'fe80::1%eth0', 'stranger', 'address_refused'],
    ['https:', '8.8.8.8', 'issuer', undefined],
    ['https:', 'fd00::1', 'issuer', 'address_refused'],
    ['https:', '10.0.0.1', 'token', undefined],
    ['https:', '169.254.169.254', 'token', 'address_refused'],
    ['http:', '127.0.0.1', 'token', undefined],
    ['http:', '::1', 'token', undefined],
    ['http:', '10.0.0.1', 'token', 'https_required'],
    ['http:', '8.8.8.8', 'token', 'https_required'],
    ['http:', 'fe80::1%eth0', 'token', 'address_refused'],
  ];
  for (const [protocol, address, row, refusal] of rows)
    test(`${address} by ${protocol} is ${refusal ?? 'allowed'} under the policy "${row}"`, () =>
      assert.equal(addressRefusal(fetchPolicies[row], protocol, address), refusal));
});

test('an unknown server has 5 seconds and 64 KiB', () => {
  assert.equal(stranger.timeoutMs, 5_000);
  assert.equal(stranger.maxBodyBytes, 65_536);
});

test('an owner who allows nothing gets the policy of the row', () => {
  assert.deepEqual(ownersPolicy('issuer', {}), issuer);
  assert.deepEqual(ownersPolicy('token', { insecureAllowHttp: false, allowPrivateAddresses: false }), token);
});
