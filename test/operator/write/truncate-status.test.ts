import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conditionsIn } from '../../../operator/plan/conditions.ts';
import { truncatedStatus, maxStatusBytes } from '../../../operator/write/truncate-status.ts';

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const names = (count: number, length = 10): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${index}`.padStart(length, 'é'));
const condition = (message: string) => ({ type: 'Ready', status: 'True', reason: 'Serving', message });
const shortenedIn = (status: unknown): string | undefined =>
  conditionsIn(status).find(({ type }) => type === 'StatusShortened')?.message;

test('a status that fits is written as it is', () => {
  const status = { message: 'm', conditions: [condition('m')], servers: names(10) };
  assert.equal(truncatedStatus(status, 1000), status);
});

test('of one that does not, the longest list is written from its beginning, and a condition says how much of it', () => {
  const status = { servers: names(10), entries: names(5000), entryCount: 5000, conditions: [condition('m')] };
  const told = truncatedStatus(status, 20_000);
  const entries = told['entries'] as readonly string[];
  assert.ok(bytesOf(told) <= 20_000, `${bytesOf(told)}`);
  assert.ok(entries.length > 500, `${entries.length}`);
  assert.deepEqual(entries, status.entries.slice(0, entries.length));
  assert.deepEqual([told['servers'], told['entryCount']], [status.servers, 5000]);
  assert.deepEqual(conditionsIn(told)[0], condition('m'));
  assert.match(shortenedIn(told) ?? '', new RegExp(`^status.entries names ${entries.length} of 5000: the API server`));
});

test('where there is no room for lists, messages are short, too', () => {
  const told = truncatedStatus(
    { message: 'x'.repeat(9000), servers: names(9), conditions: [condition('y'.repeat(9000))] },
    5000,
  );
  assert.ok(bytesOf(told) <= 5000, `${bytesOf(told)}`);
  assert.deepEqual(told['servers'], []);
  assert.match(shortenedIn(told) ?? '', /names 0 of 9/);
  assert.match(
    shortenedIn(truncatedStatus({ conditions: [condition('y'.repeat(9000))] }, 0)) ?? '',
    /^messages are cut short/,
  );
});

test('a large spec leaves less room, and always some', () => {
  assert.deepEqual(
    [undefined, 'x'.repeat(100 * 1024 - 2), 'x'.repeat(1024 * 1024)].map((spec) => maxStatusBytes(spec) / 1024),
    [512, 412, 64],
  );
});
