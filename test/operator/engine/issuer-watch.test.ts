import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IssuerWatch } from '../../../operator/engine/issuer-watch.ts';
import type { ClusterIssuer } from '../../../operator/plan/settings.ts';
import { manualClock } from './manual-clock.ts';

const OLD: ClusterIssuer = { issuer: 'https://cluster.example', keys: [{ kid: 'old' }] };
const NEW: ClusterIssuer = { ...OLD, keys: [{ kid: 'new' }, { kid: 'old' }] };

test('who issues tokens is asked again every five minutes; a change is told once, and silence changes nothing', async () => {
  const clock = manualClock();
  let answer: () => Promise<ClusterIssuer | undefined> = () => Promise.resolve(OLD);
  let changes = 0;
  let failures = 0;
  const watch = new IssuerWatch({
    api: { clusterIssuer: () => answer() },
    clock,
    onChange: () => {
      changes += 1;
    },
    onFailure: () => {
      failures += 1;
    },
  });
  const stop = new AbortController();
  await watch.refresh(stop.signal);
  assert.deepEqual([watch.issuer, changes], [OLD, 1]);
  const following = watch.follow(stop.signal);
  await clock.advance(300_000);
  assert.equal(changes, 1);
  answer = () => Promise.resolve(structuredClone(NEW));
  await clock.advance(300_000);
  assert.deepEqual([watch.issuer, changes], [NEW, 2]);
  answer = () => Promise.reject(new Error('away'));
  await clock.advance(300_000);
  assert.deepEqual([watch.issuer, changes, failures], [NEW, 2, 1]);
  stop.abort();
  await following;
});
