import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { ByteBudget } from '../../../runtime/process/byte-budget.ts';
import { answerError, answerJson, answerStatus, count } from '../../fixtures/backend.ts';
import { type OneBackend, startOneBackend } from './one-backend.ts';

const WITHOUT_LISTS = new ByteBudget(0);

let at: OneBackend;
beforeEach(async () => {
  at = await startOneBackend();
});
afterEach(() => at.close());

describe('the list of a backend', () => {
  test('holds every tool of every page, as the backend wrote it', async () => {
    const odd = '{ "name":"odd", "x":1.0, "big":12345678901234567890, "inputSchema":{"type":"object"}, "\\u00e9":[] }';
    at.fixture.set({ tools: ['a', odd, 'b', 'c', 'd'], pageSize: 2 });
    at.open();
    await at.backend.firstListed;
    assert.deepEqual(at.names(), ['a', 'odd', 'b', 'c', 'd']);
    assert.equal(at.backend.state.lists?.tools?.[1]?.bytes.toString(), odd);
    assert.equal(count(at.fixture, 'tools/list'), 3);
    assert.equal(at.backend.state.status, 'ready');
  });

  test('lacks what clients refuse, and says so until it is mended', async () => {
    at.fixture.set({ tools: ['a', '{"name":"odd"}', 'b', '{"name":5}'] });
    at.open();
    await at.backend.firstListed;
    assert.deepEqual(at.names(), ['a', 'b']);
    const message = 'left out of its lists, since clients refuse it: tool "odd", for its inputSchema, and 1 more';
    assert.deepEqual([at.backend.state.status, at.backend.state.message], ['ready', message]);
    at.fixture.set({ tools: ['a', 'b'] });
    await at.roundAfter(30_000);
    await at.roundAfter(30_000);
    assert.deepEqual([at.backend.state.status, at.backend.state.message], ['ready', undefined]);
  });

  test('gives its room back when the backend is no longer served', async () => {
    const lists = new ByteBudget(10_000_000);
    at.open({}, lists);
    await at.backend.firstListed;
    assert.ok(lists.taken > 0);
    await at.backend.retire();
    assert.equal(lists.taken, 0);
  });

  test('of a server without tools is empty', async () => {
    const result = '{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}';
    at.fixture.set({
      on: ({ recorded }) => {
        if (recorded.method === 'initialize') return answerJson(result);
        if (recorded.method === 'ping') return answerJson('{}');
        return recorded.method === 'tools/list' ? answerError('{"code":-32601,"message":"no"}') : answerStatus(202);
      },
    });
    at.open();
    await at.backend.firstListed;
    assert.equal(at.backend.state.status, 'ready');
    assert.deepEqual(at.names(), []);
  });

  const bad: readonly (readonly [string, string])[] = [
    ['cursors run in circles', '{"tools":[{"name":"x"}],"nextCursor":"same"}'],
    ['there is no list', '{"items":[]}'],
    ['it is not JSON inside a string', '{"tools":[{"name":"x","description":"\\q"}]}'],
    ['it holds a raw line feed', `{"tools":[{"name":"x","description":"${'y'.repeat(100)}\n"}]}`],
    ['a tool is named twice', '{"tools":[{"name":"x","n\\u0061me":"other_tool"}]}'],
  ];
  for (const [what, page] of bad) {
    test(`is not to be had when ${what}`, async () => {
      at.fixture.set({ on: ({ recorded }) => (recorded.method === 'tools/list' ? answerJson(page) : undefined) });
      at.open({ unhealthyThreshold: 1 });
      await at.backend.firstListed;
      assert.equal(at.backend.state.status, 'unavailable');
      assert.equal(at.backend.state.lists?.tools, undefined);
    });
  }

  test('is not to be had when the lists of all backends leave no room for it', async () => {
    at.open({ unhealthyThreshold: 1 }, WITHOUT_LISTS);
    await at.backend.firstListed;
    assert.equal(at.backend.state.status, 'unavailable');
    assert.match(at.backend.state.message ?? '', /all backends together/);
  });

  test('is read again after a minute where the backend does not tell of changes', async () => {
    at.open();
    await at.backend.firstListed;
    await at.roundAfter(30_000);
    assert.equal(count(at.fixture, 'tools/list'), 1);
    at.fixture.set({ tools: ['new'] });
    await at.roundAfter(30_000);
    assert.deepEqual(at.names(), ['new']);
  });

  test('that can no longer be read is served as it was, and the backend degraded', async () => {
    at.open();
    await at.backend.firstListed;
    at.fixture.set({
      on: ({ recorded }) => (recorded.method === 'tools/list' ? answerJson('{"items":[]}') : undefined),
    });
    await at.roundAfter(30_000);
    await at.roundAfter(30_000);
    assert.deepEqual([at.backend.state.status, at.backend.state.consecutiveFailures], ['degraded', 0]);
    assert.equal(at.backend.state.message, 'backend "a" gave a list of tools that cannot be used');
    assert.deepEqual(at.names(), ['echo']);
    at.fixture.set({});
    await at.roundAfter(1_000);
    assert.equal(at.backend.state.status, 'ready');
  });
});
