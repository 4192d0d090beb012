import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordEvents, transitions } from '../../../operator/engine/events.ts';
import type { KubeObject } from '../../../operator/object.ts';

const status = (...conditions: readonly (readonly [string, string, string])[]): object => ({
  conditions: conditions.map(([type, value, reason]) => ({ type, status: value, reason, message: `${reason}.` })),
});

const event = (reason: string) => ({ type: 'Normal' as const, reason, message: `${reason}.` });

const told = (before: object | undefined, after: object): readonly string[] =>
  transitions([event('Good'), event('Found')], before, after).map(({ reason }) => reason);

test('an event is created when its condition is new or changed, and only then', () => {
  const after = status(['Valid', 'True', 'Good'], ['Resolved', 'True', 'Found']);
  assert.deepEqual(told(undefined, after), ['Good', 'Found']);
  assert.deepEqual(told(status(['Valid', 'True', 'Good'], ['Resolved', 'False', 'Missing']), after), ['Found']);
  assert.deepEqual(told(after, after), []);
});

test('an event without a condition of its own is not created', () => {
  assert.deepEqual(told(undefined, status(['Valid', 'True', 'Other'])), []);
});

const regarding: KubeObject = {
  apiVersion: 'vmcp.dev/v1beta1',
  kind: 'VirtualMCPServer',
  metadata: { name: 'one', namespace: 'here', uid: 'u', resourceVersion: '7' },
};

const record = async (
  message: string,
  create: (object: KubeObject) => Promise<KubeObject>,
): Promise<readonly unknown[]> => {
  const failures: unknown[] = [];
  const deps = {
    api: { create },
    now: () => Date.parse('2026-11-20T12:00:00.123Z'),
    unique: () => 'abc',
    instance: 'pod-1',
    onFailure: (error: unknown) => failures.push(error),
  };
  await recordEvents(regarding, [{ ...event('Good'), message }], deps, new AbortController().signal);
  return failures;
};

test('an event names what it is about, when and by whom', async () => {
  const sent: KubeObject[] = [];
  await record('all is well', (object) => Promise.resolve(object).finally(() => sent.push(object)));
  assert.deepEqual(sent, [
    {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: 'one.abc', namespace: 'here' },
      eventTime: '2026-11-20T12:00:00.123000Z',
      type: 'Normal',
      reason: 'Good',
      note: 'all is well',
      action: 'Reconcile',
      reportingController: 'vmcp.dev/operator',
      reportingInstance: 'pod-1',
      regarding: {
        apiVersion: 'vmcp.dev/v1beta1',
        kind: 'VirtualMCPServer',
        name: 'one',
        namespace: 'here',
        uid: 'u',
        resourceVersion: '7',
      },
    },
  ]);
});

test('a long message is cut to the kilobyte that the API allows', async () => {
  const sent: KubeObject[] = [];
  await record('ä'.repeat(2000), (object) => Promise.resolve(object).finally(() => sent.push(object)));
  const note = String(sent[0]?.['note']);
  assert.ok(Buffer.byteLength(note) <= 1024 && note.length > 400, `${Buffer.byteLength(note)} bytes`);
});

test('an event that is not taken is lost, and nothing else fails', async () => {
  const failures = await record('x', () => Promise.reject(new Error('too many')));
  assert.equal(failures.length, 1);
});
