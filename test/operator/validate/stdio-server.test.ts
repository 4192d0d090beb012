import assert from 'node:assert/strict';
import { test } from 'node:test';
import { made } from '../plan/made.ts';
import { toldOf } from './violation-texts.ts';

const told = (name: string, spec: object): readonly string[] =>
  toldOf(made('MCPServer', name, { image: 'a', ...spec }));

const limited = { rateLimiting: { shared: { maxTokens: 1, refillPeriod: '1s' } } };
const [longest, tooLong] = ['a'.repeat(34), 'a'.repeat(35)] as const;

test('a server of transport stdio has so many pods that a Role can name them', () => {
  assert.deepEqual(told('it', { replicas: 100 }), []);
  assert.deepEqual(told('it', { replicas: 101 }), [
    'spec.replicas: a server of transport stdio has at most 100 pods; write 100 or less',
  ]);
  assert.deepEqual(told('it', { replicas: 101, transport: 'sse' }), []);
});

test('behind the runtime, its name leaves room for what Kubernetes makes of it', () => {
  assert.deepEqual(told(longest, limited), []);
  assert.deepEqual(told(tooLong, {}), []);
  assert.deepEqual(told(tooLong, { ...limited, transport: 'sse' }), []);
  assert.deepEqual(told(tooLong, limited), [
    'metadata.name: a server of transport stdio with clients of its own has a name of at most 34 characters; shorten it',
  ]);
});
