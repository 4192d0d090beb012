import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { apiClient } from '../../../operator/api/client.ts';
import { inform } from '../../../operator/cache/informer.ts';
import { Store } from '../../../operator/cache/store.ts';
import { type ReadJson, readIn, readWithFallback } from '../../../operator/threads/read-json.ts';
import { TooCostlyError, WorkThread } from '../../../operator/threads/work-thread.ts';
import { steadyClock } from '../../../runtime/process/system-clock.ts';
import { startScriptedServer, table } from '../api/scripted-server.ts';

const scripted = await startScriptedServer();

/** Many small values are not read within this time. */
const NO_TIME = 1;
const valuesThatTakeLong = (count: number): readonly object[] => Array.from({ length: count }, () => ({}));

describe('what the API server tells and cannot be read in time', () => {
  const entry = new URL('../../../operator/main.ts', import.meta.url);
  const [hasty, patient] = [NO_TIME, 60_000].map(
    (limitMs) => new WorkThread({ entry, limitMs, heapMiB: 64 }, steadyClock),
  ) as [WorkThread, WorkThread];
  after(() => Promise.all([hasty.stop(), patient.stop()]));
  const read = readWithFallback(readIn(hasty), readIn(patient));

  test('is read all the same, while a review is given up', async () => {
    const text = JSON.stringify({ data: valuesThatTakeLong(300_000) });
    assert.deepEqual(await read(text), JSON.parse(text));
    await assert.rejects(read(Buffer.from(text)), TooCostlyError);
  });

  test('blinds no watch: the events after it are seen', async () => {
    const widget = (name: string, size: number): object => ({
      type: 'ADDED',
      object: {
        apiVersion: 'test.vmcp.dev/v1',
        kind: 'Widget',
        metadata: { name, namespace: 'n', resourceVersion: String(size) },
        spec: { values: valuesThatTakeLong(size) },
      },
    });
    const endOfList = {
      type: 'BOOKMARK',
      object: { metadata: { resourceVersion: '1', annotations: { 'k8s.io/initial-events-end': 'true' } } },
    };
    const watches: string[] = [];
    scripted.answer = ({ query }, response) => {
      watches.push(query['resourceVersion'] ?? 'all');
      const events =
        query['sendInitialEvents'] === 'true' ? [endOfList] : [widget('large', 300_000), widget('next', 400_000)];
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
    };
    const { promise: isSeen, resolve: markSeen } = Promise.withResolvers<void>();
    const store = new Store(({ after: object }) => object?.metadata.name === 'next' && markSeen());
    const stopping = new AbortController();
    const api = apiClient(scripted.transportWith({ read }), table);
    const deps = {
      api,
      clock: steadyClock,
      random: () => 0,
      onFailure: (_: unknown, error: unknown) => assert.fail(String(error)),
    };
    const { ended } = inform({ kind: 'Widget', namespace: '' }, store, deps, stopping.signal);
    await isSeen;
    assert.deepEqual(watches, ['all', '1'], 'nothing was asked for again');
    assert.equal(store.list('n').length, 2);
    stopping.abort();
    await ended;
  });
});

test('pages of lists that are too costly, and what is no JSON, are not tried again', async () => {
  const patient: ReadJson = () => assert.fail('it was tried again');
  const tooCostly = readWithFallback(() => Promise.reject(new TooCostlyError('takes too long')), patient);
  await assert.rejects(tooCostly('x'.repeat(17 * 1024 * 1024)), TooCostlyError);
  await assert.rejects(readWithFallback(() => Promise.reject(new SyntaxError('no')), patient)('{'), SyntaxError);
});
