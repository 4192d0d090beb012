import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CallsUnderWay } from '../../../runtime/edge/index.ts';
import { VmcpError } from '../../../runtime/errors.ts';

const stream = { send: () => false };
const idOf = (id: number): Buffer => Buffer.from(String(id));
const reason = new VmcpError('cancelled', 'cancelled');

describe('calls of a session beyond its bound', () => {
  const begin = (bounds: { calls: number }, count: number) => {
    const calls = new CallsUnderWay(bounds);
    const order: number[] = [];
    const begun = Array.from({ length: count }, (_, id) => {
      const call = calls.begin(idOf(id), stream);
      void call.turn?.then(
        () => order.push(id),
        () => order.push(-id),
      );
      return call;
    });
    const turns = async (): Promise<readonly number[]> => {
      await new Promise((resolve) => setImmediate(resolve));
      return order;
    };
    return { calls, begun, turns };
  };

  test('wait, and come in the order they were made as others end', async () => {
    const { begun, turns } = begin({ calls: 2 }, 5);
    assert.deepEqual(
      begun.map(({ turn }) => turn !== undefined),
      [false, false, true, true, true],
    );
    assert.deepEqual(await turns(), []);
    begun[1]?.end();
    assert.deepEqual(await turns(), [2]);
    begun[0]?.end();
    begun[2]?.end();
    assert.deepEqual(await turns(), [2, 3, 4]);
  });

  test('give up their place when they are cancelled, and take none from those behind them', async () => {
    const { calls, begun, turns } = begin({ calls: 1 }, 3);
    calls.cancel(idOf(1), reason);
    assert.deepEqual(await turns(), [-1]);
    begun[1]?.end();
    assert.deepEqual(await turns(), [-1], 'the one that was cancelled had no room to give back');
    begun[0]?.end();
    assert.deepEqual(await turns(), [-1, 2]);
    begun[2]?.end();
    assert.equal(calls.size, 0);
    assert.equal(calls.begin(idOf(9), stream).turn, undefined);
  });

  test('all come when the bound is raised', async () => {
    const bounds = { calls: 1 };
    const { begun, turns } = begin(bounds, 4);
    bounds.calls = 3;
    begun[0]?.end();
    assert.deepEqual(await turns(), [1, 2, 3]);
  });

  test('end with their session', async () => {
    const { calls, turns } = begin({ calls: 1 }, 3);
    calls.cancelAll(reason);
    assert.deepEqual(await turns(), [-1, -2]);
  });

  test('are refused where 256 wait already', () => {
    const { calls, begun } = begin({ calls: 1 }, 257);
    assert.throws(() => calls.begin(idOf(300), stream), { code: 'busy' });
    begun[0]?.end();
    assert.notEqual(calls.begin(idOf(300), stream).turn, undefined);
  });

  test('do not share an id with one that waits', () => {
    const { calls } = begin({ calls: 1 }, 2);
    assert.throws(() => calls.begin(idOf(1), stream), { code: 'not_json_rpc' });
  });
});
