import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiClient } from '../../../operator/api/client.ts';
import { leaseGuarded } from '../../../operator/api/lease-guard.ts';

const READS: ReadonlySet<string> = new Set(['clusterIssuer', 'get', 'getMetadata', 'list', 'watch']);
const WRITES = ['apply', 'applyNew', 'applyStatus', 'create', 'createOwned', 'replace', 'mergePatch', 'remove'];

/** A client that notes what it is asked for. */
const noting = (asked: string[]): ApiClient =>
  Object.fromEntries(
    [...READS, ...WRITES].map((name) => [
      name,
      async () => {
        asked.push(name);
      },
    ]),
  ) as unknown as ApiClient;

const callAll = (api: ApiClient): Promise<readonly PromiseSettledResult<unknown>[]> =>
  Promise.allSettled(Object.values(api).map((method) => (method as () => Promise<unknown>)()));

test('a replica that has lost the Lease reads, and writes nothing', async () => {
  const asked: string[] = [];
  const outcomes = await callAll(leaseGuarded(noting(asked), () => false));
  assert.deepEqual(new Set(asked), READS);
  assert.equal(outcomes.filter(({ status }) => status === 'rejected').length, WRITES.length);
});

test('the leader does both', async () => {
  const asked: string[] = [];
  await callAll(leaseGuarded(noting(asked), () => true));
  assert.deepEqual(new Set(asked), new Set([...READS, ...WRITES]));
});
