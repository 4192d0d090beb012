import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError } from '../../../operator/api/errors.ts';
import type { WatchEvent } from '../../../operator/api/watch.ts';
import { type Answer, startScriptedServer } from './scripted-server.ts';

const signal = new AbortController().signal;
const server = await startScriptedServer();

describe('a watch', () => {
  const events = async (given: Answer, stopping: AbortSignal = signal): Promise<readonly WatchEvent[]> => {
    server.answer = given;
    const all: WatchEvent[] = [];
    for await (const event of server.client.watch({ kind: 'Widget', namespace: 'here' }, '41', stopping))
      all.push(event);
    return all;
  };
  const line = (type: string, name: string): string => `${JSON.stringify({ type, object: { metadata: { name } } })}\n`;

  test('asks for bookmarks from where the list ended', async () => {
    await events((_, response) => response.end());
    const { watch, resourceVersion, allowWatchBookmarks } = server.asked[0]?.query ?? {};
    assert.deepEqual([watch, resourceVersion, allowWatchBookmarks], ['true', '41', 'true']);
  });

  test('puts events together however the bytes are cut, within a letter too', async () => {
    const bytes = Buffer.from(line('ADDED', 'ä') + line('DELETED', 'b'));
    const seen = await events((_, response) => {
      const cut = bytes.indexOf(0xa4);
      response.write(bytes.subarray(0, cut));
      setImmediate(() => response.end(bytes.subarray(cut)));
    });
    assert.deepEqual(
      seen.map(({ type, object }) => `${type} ${object.kind} ${object.metadata.name}`),
      ['ADDED Widget ä', 'DELETED Widget b'],
    );
  });

  test('throws what the server reports within it', async () => {
    const gone = { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' } };
    await assert.rejects(
      events((_, response) => response.end(`${JSON.stringify(gone)}\n`)),
      (error: unknown) => error instanceof ApiError && error.status === 410,
    );
  });

  test('ends when its signal is aborted', async () => {
    const stopping = new AbortController();
    const hanging = events((_, response) => {
      response.write(line('ADDED', 'a'));
      stopping.abort(new Error('stopping'));
    }, stopping.signal);
    await assert.rejects(hanging, /stopping/);
  });
});
