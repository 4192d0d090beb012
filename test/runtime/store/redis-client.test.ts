import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostAndPort } from '../../../runtime/store/redis-client.ts';

const ADDRESSES: readonly (readonly [string, string, number])[] = [
  ['redis', 'redis', 6379],
  ['redis:1', 'redis', 1],
  ['10.0.0.1:26379', '10.0.0.1', 26379],
  ['::1', '::1', 6379],
  ['fe80::1:2', 'fe80::1:2', 6379],
  ['[::1]', '::1', 6379],
  ['[fe80::1:2]:7', 'fe80::1:2', 7],
];

for (const [address, host, port] of ADDRESSES) {
  test(`the address ${address} is host ${host}, port ${port}`, () => {
    assert.deepEqual(hostAndPort(address, 6379), { host, port });
  });
}
