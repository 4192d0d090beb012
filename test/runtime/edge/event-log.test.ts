import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { ByteBudget } from '../../../runtime/process/byte-budget.ts';
import { EventLogs } from '../../../runtime/edge/index.ts';

let budget: ByteBudget;
let logs: EventLogs;
beforeEach(() => {
  budget = new ByteBudget(1_000);
  logs = new EventLogs({ prefix: 'p', maxBytes: 100, budget, isPrimed: true });
});

const sink = { send: () => true, end: () => {} };
const gone = { send: () => false, end: () => {} };

describe('the events of a session', () => {
  test('take of what all sessions share as much as is kept', () => {
    const log = logs.newStream();
    log.begin(sink);
    for (let sent = 0; sent < 5; sent += 1) log.send(Buffer.alloc(40));
    assert.equal(budget.taken, 80);
  });

  test('give everything back when it ends, and take nothing afterwards', () => {
    const log = logs.newStream();
    log.begin(sink);
    log.send(Buffer.alloc(90));
    logs.clear();
    assert.equal(budget.taken, 0);
    log.send(Buffer.from('late'));
    assert.equal(budget.taken, 0);
  });

  test('are lost to a client that is away when they have no room, or their session has ended', () => {
    const log = logs.newStream();
    log.begin(gone);
    assert.equal(log.send(Buffer.alloc(100)), true);
    assert.equal(log.send(Buffer.alloc(101)), false);
    logs.clear();
    assert.equal(log.send(Buffer.alloc(1)), false);
  });
});

test('the newest 64 streams of a session are remembered', () => {
  for (let begun = 0; begun < 65; begun += 1) logs.newStream().begin(sink);
  assert.equal(logs.find('p-1-1'), undefined);
  assert.ok(logs.find('p-2-1'));
});

test('calls that have their answers push none out that is open, and those without a stream none at all', () => {
  const own = logs.newStream();
  own.begin(sink);
  for (let called = 0; called < 200; called += 1) logs.newStream('ofCall');
  for (let called = 0; called < 200; called += 1) {
    const log = logs.newStream('ofCall');
    log.begin(sink);
    log.finish(undefined);
  }
  assert.equal(logs.find('p-1-1')?.log, own);
});
