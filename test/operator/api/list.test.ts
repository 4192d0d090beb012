import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { lister } from '../../../operator/api/list.ts';
import { readHere } from '../../../operator/threads/read-json.ts';
import { TooCostlyError } from '../../../operator/threads/work-thread.ts';
import { type Answer, json, startScriptedServer, table } from './scripted-server.ts';

const signal = new AbortController().signal;
const server = await startScriptedServer();
const selection = { kind: 'Widget', namespace: '' };

const events =
  (...all: readonly object[]): Answer =>
  (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(all.map((event) => `${JSON.stringify(event)}\n`).join(''));
  };
const event = (type: string, name: string, resourceVersion: string): object => ({
  type,
  object: { apiVersion: 'test.vmcp.dev/v1', kind: 'Widget', metadata: { namespace: 'n', name, resourceVersion } },
});
const endOfList = {
  type: 'BOOKMARK',
  object: { metadata: { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'true' } } },
};
const keep = <T>(object: T): T => object;

describe('a list of which not all is kept', () => {
  test('comes as a stream, up to the bookmark that ends it', async () => {
    server.answer = events(
      event('ADDED', 'a', '1'),
      event('ADDED', 'b', '2'),
      event('DELETED', 'a', '3'),
      endOfList,
      event('ADDED', 'c', '10'),
    );
    const kept: string[] = [];
    const list = await lister(server.transportWith(), table)(selection, signal, (object) => {
      kept.push(object.metadata.name);
      return object;
    });
    assert.deepEqual(
      list.items.map(({ metadata }) => metadata.name),
      ['b'],
    );
    assert.equal(list.resourceVersion, '9');
    assert.deepEqual(kept, ['a', 'b']);
    assert.equal(server.asked[0]?.query['sendInitialEvents'], 'true');
  });

  test('fails when the stream ends before its time: half a list would look as if objects were gone', async () => {
    server.answer = events(event('ADDED', 'a', '1'));
    await assert.rejects(
      lister(server.transportWith(), table)(selection, signal, keep),
      /ended before it was complete/,
    );
  });

  test('is asked for by pages where the server knows no streams, from then on at once', async () => {
    server.answer = (one, response) =>
      one.query['watch'] === undefined
        ? json(200, { metadata: { resourceVersion: '7' }, items: [{ metadata: { name: 'a' } }] })(one, response)
        : json(422, { kind: 'Status', reason: 'Invalid', message: 'sendInitialEvents is forbidden' })(one, response);
    const list = lister(server.transportWith(), table);
    assert.equal((await list(selection, signal, keep)).resourceVersion, '7');
    assert.equal((await list(selection, signal, keep)).items.length, 1);
    assert.deepEqual(
      server.asked.map(({ query }) => query['watch']),
      ['true', undefined, undefined],
    );
  });
});

test('pages that are too costly to read are asked for again, smaller', async () => {
  server.answer = (one, response) =>
    json(200, {
      metadata: { resourceVersion: '7', continue: one.query['continue'] === undefined ? 'more' : '' },
      items: [{ metadata: { name: `of-${one.query['limit']}` } }],
    })(one, response);
  const read = (json: string | Uint8Array): Promise<unknown> =>
    /of-1"/.test(String(json)) ? readHere(json) : Promise.reject(new TooCostlyError('takes too much memory'));
  const { items } = await lister(server.transportWith({ read }), table)(selection, signal);
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ['of-1', 'of-1'],
  );
});

describe('pages', () => {
  const limitsFor = async (each: number, total: number): Promise<readonly number[]> => {
    const limits: number[] = [];
    server.answer = (one, response) => {
      const from = Number(one.query['continue'] ?? 0);
      const limit = Number(one.query['limit']);
      limits.push(limit);
      const end = Math.min(total, from + limit);
      const items = Array.from({ length: end - from }, (_, index) => ({
        metadata: { name: `w${from + index}` },
        text: 'x'.repeat(each),
      }));
      json(200, { metadata: { resourceVersion: '7', ...(end < total && { continue: String(end) }) }, items })(
        one,
        response,
      );
    };
    const { items } = await lister(server.transportWith(), table)(selection, signal);
    assert.equal(new Set(items.map(({ metadata }) => metadata.name)).size, total);
    return limits;
  };

  test('begin small and grow as long as their text is small', async () => {
    assert.deepEqual(await limitsFor(10, 1_800), [10, 20, 40, 80, 160, 320, 500, 500, 500]);
  });

  test('have no more objects than a MiB has room for', async () => {
    const limits = await limitsFor(100_000, 60);
    assert.deepEqual(limits, [10, 10, 10, 10, 10, 10]);
    assert.deepEqual(await limitsFor(1_300_000, 13), [10, 1, 1, 1]);
  });
});
