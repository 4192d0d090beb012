import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cancellation } from '../../../runtime/process/cancellation.ts';

test('every listener is called once for a cancellation, with its first reason', () => {
  const cancellation = new Cancellation();
  const heard: string[] = [];
  const hear = (name: string) => () => void heard.push(`${name}: ${cancellation.reason?.message}`);
  cancellation.addEventListener('abort', hear('one'));
  cancellation.addEventListener('abort', hear('other'));
  assert.equal(cancellation.aborted, false);
  cancellation.abort(new Error('no longer wanted'));
  cancellation.abort(new Error('too late'));
  assert.deepEqual(heard, ['one: no longer wanted', 'other: no longer wanted']);
  assert.equal(cancellation.aborted, true);
});

test('a listener that was removed is not called', () => {
  const cancellation = new Cancellation();
  const left = () => assert.fail('was told');
  cancellation.addEventListener('abort', left);
  cancellation.removeEventListener('abort', left);
  cancellation.abort(new Error('no longer wanted'));
});

test('of several listeners only the one that was removed is not called', () => {
  for (const leaving of [0, 1, 2]) {
    const cancellation = new Cancellation();
    const heard: number[] = [];
    const stranger = () => assert.fail('was told');
    const listeners = [0, 1, 2].map((place) => () => void heard.push(place));
    for (const listener of listeners) cancellation.addEventListener('abort', listener);
    const leaver = listeners[leaving] ?? stranger;
    cancellation.removeEventListener('abort', leaver);
    cancellation.removeEventListener('abort', stranger);
    cancellation.abort(new Error('no longer wanted'));
    assert.deepEqual(
      heard,
      [0, 1, 2].filter((place) => place !== leaving),
    );
  }
});
