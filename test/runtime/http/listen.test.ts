import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ListenAt, listen, listeningOrigin } from '../../../runtime/http/listen.ts';

/** A server on a machine that refuses `::` with this code. */
const serverRefused = (code: string) => {
  const hosts: string[] = [];
  return {
    hosts,
    listen: ({ host }: ListenAt): Promise<unknown> => {
      hosts.push(host);
      return host === '0.0.0.0' ? Promise.resolve('') : Promise.reject(Object.assign(new Error('refused'), { code }));
    },
  };
};

describe('listening on every address', () => {
  for (const code of ['EAFNOSUPPORT', 'EADDRNOTAVAIL']) {
    test(`goes without IPv6 where the kernel answers ${code}`, async () => {
      const server = serverRefused(code);
      await listen(server, { host: '::', port: 0 });
      assert.deepEqual(server.hosts, ['::', '0.0.0.0']);
    });
  }

  test('fails when the port is taken', async () => {
    const server = serverRefused('EADDRINUSE');
    await assert.rejects(listen(server, { host: '::', port: 0 }), { code: 'EADDRINUSE' });
    assert.deepEqual(server.hosts, ['::']);
  });
});

test('an address that was asked for and is not there is never replaced by every address', async () => {
  const server = serverRefused('EADDRNOTAVAIL');
  await assert.rejects(listen(server, { host: '::1', port: 0 }), { code: 'EADDRNOTAVAIL' });
  assert.deepEqual(server.hosts, ['::1']);
});

describe('the URL of a server that listens on', () => {
  for (const [address, origin] of [
    ['127.0.0.1', 'http://127.0.0.1:80'],
    ['fd00::1', 'http://[fd00::1]:80'],
    ['::', 'http://localhost:80'],
    ['0.0.0.0', 'http://localhost:80'],
  ] as const)
    test(address, () => assert.equal(listeningOrigin({ address, port: 80 }), origin));
});
