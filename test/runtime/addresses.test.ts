import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guardedLookup, isForbiddenAddress } from '../../runtime/addresses.ts';

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
