import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkedLookup,
  guardedLookup,
  isForbiddenAddress,
  isLoopbackAddress,
  isPublicAddress,
} from '../../../runtime/http/addresses.ts';

const forbidden = [
  '169.254.169.254',
  '169.254.0.1',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '::169.254.169.254',
  '64:ff9b::169.254.169.254',
  'fe80::1',
  'fe80::1%eth0',
  'febf::1',
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
  'fd00:c1::a9fe:a9fe',
  '64:ff9b::6464:64c8',
  '64:ff9b::a83f:8110',
  '64:ff9b:1::a9fe:a9fe',
  '2002:a9fe:a9fe::',
  '2002:a9fe:a9fe::1',
  '::ffff:0:169.254.169.254',
  '::ffff:168.63.129.16',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  '64:ff9b::192.0.0.192',
  '::ffff:100.100.100.200',
];
for (const address of forbidden)
  test(`${address} is never contacted`, () => assert.equal(isForbiddenAddress(address), true));

const allowed = [
  '127.0.0.1',
  '::1',
  '10.0.0.1',
  '192.168.1.1',
  '100.64.0.1',
  '8.8.8.8',
  'fd00::1',
  '::',
  '64:ff9b::8.8.8.8',
  '2002:808:808::1',
  'fec0::1',
  '::ffff:10.0.0.1',
  '169.253.1.1',
  'localhost',
];
for (const address of allowed)
  test(`${address} may be a backend`, () => assert.equal(isForbiddenAddress(address), false));

test('a name is resolved and checked in one step', async () => {
  const found = await new Promise<unknown>((resolve, reject) =>
    guardedLookup('localhost', { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses))),
  );
  assert.ok(Array.isArray(found) && found.length > 0);
});

const notPublic = [
  ...forbidden,
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.1',
  '100.127.255.255',
  '127.0.0.1',
  '127.255.255.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.8',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::1%lo',
  '::127.0.0.1',
  '::8.8.8.8',
  '::ffff:10.0.0.1',
  '::ffff:7f00:1',
  '::ffff:8.8.8.8',
  '::ffff:0:10.0.0.1',
  '64:ff9b::10.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b::c0a8:1',
  '64:ff9b:1::8.8.8.8',
  '100::1',
  '2001::1',
  '2001:0:5ef5:79fd:0:59d:f5ff:fffe',
  '2001:2::1',
  '2001:20::1',
  '2001:db8::1',
  '2002:808:808::1',
  '2002:a00:1::1',
  '3fff::1',
  '3fff:fff::1',
  '4000::1',
  '5f00::1',
  'fc00::1',
  'fd12:3456:789a::1',
  'fdff::1%eth0',
  'fec0::1',
  'ff02::1',
  'ff0e::1',
];
for (const address of notPublic) test(`${address} is not public`, () => assert.equal(isPublicAddress(address), false));

const notAddresses = ['', 'localhost', 'example.com', '8.8.8', '8.8.8.8.', '0x8080808', '134744072', '[2606:4700::1]'];
for (const text of notAddresses)
  test(`"${text}" is no address, so it is neither public nor loopback`, () => {
    assert.equal(isPublicAddress(text), false);
    assert.equal(isLoopbackAddress(text), false);
  });

const isPublic = [
  '8.8.8.8',
  '1.1.1.1',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '64:ff9b::8.8.8.8',
  '2001:200::1',
  '2001:4860:4860::8888',
  '2003::1',
  '2606:4700:4700::1111',
  '3fff:1000::1',
];
for (const address of isPublic) test(`${address} is public`, () => assert.equal(isPublicAddress(address), true));

for (const address of ['127.0.0.1', '127.255.255.254', '::1', '::1%lo', '::ffff:127.0.0.1', '::ffff:7fff:fffe'])
  test(`${address} is loopback`, () => assert.equal(isLoopbackAddress(address), true));

const notLoopback = [
  '0.0.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '10.0.0.1',
  '::',
  '::2',
  '::127.0.0.1',
  '::ffff:0:127.0.0.1',
  '::ffff:128.0.0.1',
  '64:ff9b::127.0.0.1',
  '64:ff9b:1::7f00:1',
  '2002:7f00:1::1',
  'fe80::1',
];
for (const address of notLoopback)
  test(`${address} is not loopback`, () => assert.equal(isLoopbackAddress(address), false));

const addressesOf = (all: readonly string[]) =>
  checkedLookup(
    (address, hostname) => (address === '10.0.0.1' ? new Error(`${hostname} is refused`) : undefined),
    (_hostname, { all: isAll }, callback) => {
      assert.equal(isAll, true);
      callback(
        null,
        all.map((address) => ({ address, family: 4 })),
      );
    },
  );

const lookedUp = (all: readonly string[], options: { all?: boolean } = {}) =>
  new Promise<unknown>((resolve, reject) =>
    addressesOf(all)('a.example', options, (error, ...found) => (error ? reject(error) : resolve(found))),
  );

test('one refused address among those of a name refuses the name', async () => {
  await assert.rejects(lookedUp(['8.8.8.8', '10.0.0.1'], { all: true }), /^Error: a\.example is refused$/);
  await assert.rejects(lookedUp(['8.8.8.8', '10.0.0.1']), /^Error: a\.example is refused$/);
});

test('a look-up gives the addresses that were checked, or the first of them', async () => {
  const both = ['8.8.8.8', '1.1.1.1'];
  assert.deepEqual(await lookedUp(both, { all: true }), [both.map((address) => ({ address, family: 4 }))]);
  assert.deepEqual(await lookedUp(both), ['8.8.8.8', 4]);
});
