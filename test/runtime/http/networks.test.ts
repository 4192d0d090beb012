import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { networkOf } from '../../../runtime/http/addresses.ts';

describe('clients are distinguished', () => {
  const rows: readonly (readonly [string | undefined, string])[] = [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '::ffff:192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::6', '2001:db8:1:2'],
    ['2001:db8::6', '2001:db8:0:0'],
    ['2001:db8::3:4:5:6', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
    ['::2:3:4:5:6:7', '0:0:2:3'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    [undefined, ''],
  ];
  for (const [address, expected] of rows)
    test(`${address ?? 'an unknown address'} as ${expected === '' ? 'no client' : expected}`, () =>
      assert.equal(networkOf(address), expected));
});
