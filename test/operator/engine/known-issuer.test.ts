import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KnownIssuer } from '../../../operator/engine/known-issuer.ts';
import type { ClusterIssuer } from '../../../operator/plan/settings.ts';

const OLD: ClusterIssuer = { issuer: 'https://cluster.example', keys: [{ kid: 'old' }] };
const NEW: ClusterIssuer = { ...OLD, keys: [{ kid: 'new' }, { kid: 'old' }] };

test('the known issuer is what the API server answered last; a change is reported once, and a missing answer changes nothing', async () => {
  let answer: () => Promise<ClusterIssuer | undefined> = () => Promise.resolve(OLD);
  const known = new KnownIssuer({ clusterIssuer: () => answer() });
  const { signal } = new AbortController();
  assert.deepEqual([await known.refresh(signal), known.issuer], [true, OLD]);
  assert.equal(await known.refresh(signal), false);
  answer = () => Promise.resolve(structuredClone(NEW));
  assert.deepEqual([await known.refresh(signal), known.issuer], [true, NEW]);
  answer = () => Promise.reject(new Error('away'));
  await assert.rejects(known.refresh(signal), /away/);
  assert.deepEqual(known.issuer, NEW);
});
