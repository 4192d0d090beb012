import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as z from 'zod';
import { notYet, unsupportedIn } from '../../../runtime/config/index.ts';
import { accepted } from './files.ts';

suite('what is not supported yet', () => {
  test('the same fields are accepted at their defaults, however these are spelled', () => {
    accepted({
      aggregation: { conflictResolution: 'prefix', excludeAllTools: false, tools: [] },
      compositeTools: undefined,
      operational: {
        failureHandling: {
          healthCheckInterval: '0.5m',
          healthCheckTimeout: '10000ms',
          unhealthyThreshold: 3,
          circuitBreaker: { enabled: false, failureThreshold: 5, timeout: '1m' },
        },
      },
    });
  });

  test('a mark is found below lists, maps and defaults, and reported once for the outermost value', () => {
    const inner = z.strictObject({ a: notYet(z.boolean().default(true), 'a'), b: z.string().optional() });
    const schema = z.strictObject({
      list: z.array(inner).prefault([]),
      map: z.record(z.string(), inner).optional(),
      all: notYet(z.strictObject({ deep: inner.optional() }).optional(), 'all'),
    });
    const value = {
      list: [{ a: true }, { a: false }],
      map: { x: { a: false }, y: {} },
      all: { deep: { a: false } },
    };
    assert.deepEqual(
      unsupportedIn(schema, value).map(({ path, feature }) => [path.join('.'), feature]),
      [
        ['list.1.a', 'a'],
        ['map.x.a', 'a'],
        ['all', 'all'],
      ],
    );
  });

  test('a required field names the values that work', () => {
    const schema = z.strictObject({ type: notYet(z.enum(['a', 'b', 'c']), 'c', { except: ['a', 'b'] }) });
    assert.deepEqual(unsupportedIn(schema, { type: 'a' }), []);
    assert.equal(unsupportedIn(schema, { type: 'c' })[0]?.remedy, 'set type to a or b');
    assert.deepEqual(unsupportedIn(schema, {}), []);
  });
});
