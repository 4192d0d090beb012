import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { connectRedis } from '../../../runtime/store/redis-client.ts';
import type { RedisSettings } from '../../../runtime/store/store-settings.ts';
import { type TestCertificates, testCertificates } from '../../fixtures/certificates.ts';
import { noRedis, startRedis, type TestRedis } from '../../fixtures/redis.ts';

/** Joins the pieces that the server sends within this time: what refuses its certificate gets its alert with it. */
const JOINED_MS = 150;

/** Passes on what clients send only after `holdMs`, when they have given up; returns its address. */
const heldBack = async (address: string, holdMs: number) => {
  const port = Number(address.split(':')[1]);
  const server = createServer({ allowHalfOpen: true }, (client) => {
    client.on('error', () => {}).pause();
    setTimeout(() => {
      const redis = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {});
      client.pipe(redis);
      const sent: Buffer[] = [];
      const collect = (piece: Buffer): void => void sent.push(piece);
      redis.on('data', collect);
      setTimeout(() => {
        client.write(Buffer.concat(sent));
        redis.off('data', collect).on('data', (piece) => client.write(piece));
      }, JOINED_MS);
    }, holdMs);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
};

const TLS = { insecureSkipVerify: false } as const;

/** In which the client gives up some handshakes after `heldMs` at the latest: those of the library's own, too. */
const WAYS: Readonly<Record<string, { readonly settings: Partial<RedisSettings>; readonly heldMs: number }>> = {
  'a server': { settings: { tls: TLS }, heldMs: 600 },
  'a cluster': { settings: { tls: TLS, isCluster: true }, heldMs: 2_700 },
  sentinels: { settings: { sentinel: { masterName: 'm', tls: TLS } }, heldMs: 1_500 },
};

describe(
  'a TLS handshake that the client gives up, with a certificate that it refuses',
  { skip: noRedis, concurrency: 3 },
  () => {
    let certificates: TestCertificates;
    let redis: TestRedis;
    before(async () => {
      certificates = await testCertificates();
      redis = await startRedis({ tls: certificates });
    });
    after(async () => {
      await redis.stop();
      await certificates.remove();
    });

    for (const [name, { settings, heldMs }] of Object.entries(WAYS))
      test(`ends no process: ${name}`, async (t) => {
        const front = await heldBack(redis.address, heldMs);
        t.after(front.close);
        const all = { kind: 'redis', addresses: [front.address], db: 0, keyPrefix: '', isCluster: false } as const;
        const deps = { readSecret: async () => '', readFile: async () => '' };
        const attempts = Array.from({ length: 8 }, () =>
          connectRedis({ ...all, ...settings }, deps, AbortSignal.timeout(heldMs - 100)),
        );
        for (const { status } of await Promise.allSettled(attempts)) assert.equal(status, 'rejected');
        // The alerts come after that.
        await pause(2 * heldMs);
      });
  },
);
