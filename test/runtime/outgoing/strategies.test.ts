import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectStrategy } from '../../../runtime/outgoing/index.ts';
import { strategyDeps } from '../../fixtures/strategies.ts';

test('a strategy that does not exist is never taken for none', () => {
  assert.throws(() => connectStrategy({ type: 'obo' }, strategyDeps()), /obo/);
});
