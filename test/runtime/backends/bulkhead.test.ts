import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { Bulkhead } from '../../../runtime/backends/bulkhead.ts';
import { StreamEndedError } from '../../../runtime/backends/http/connection.ts';
import { type ErrorCode, VmcpError, type VmcpErrorMore } from '../../../runtime/errors.ts';
import { Cancellation } from '../../../runtime/process/index.ts';
import { userOf } from '../../fixtures/callers.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { hasCode } from '../store/has-code.ts';

const NOBODY = { kind: 'anonymous' } as const;

let bulkhead: Bulkhead;
let maxCalls: number;
let refused: string[];

beforeEach(() => {
  maxCalls = 2;
  refused = [];
  bulkhead = new Bulkhead({
    backend: 'a',
    clock: frozenClock(),
    tuning: () => ({ circuitBreaker: { isEnabled: true, failureThreshold: 1, timeoutMs: 60_000 }, maxCalls }),
    events: { circuitChanged: () => {}, callRefused: (backend, reason) => refused.push(`${backend} ${reason}`) },
    limits: { connections: 4, requestBytesTogether: 1_000, uncountedBytes: 100 },
    onHeld: () => {},
    onReleased: () => {},
    onDoubted: () => {},
  });
});

const isOpen = (): boolean => !bulkhead.circuit.isClosed;

describe('the calls of a backend', () => {
  test('are admitted up to the bound, whatever ends them makes room, and the bound may change meanwhile', () => {
    const [first, second] = [bulkhead.begin(NOBODY), bulkhead.begin(NOBODY)];
    assert.throws(() => bulkhead.begin(NOBODY), hasCode('busy'));
    assert.equal(bulkhead.count, 2);
    bulkhead.succeeded(first);
    bulkhead.begin(NOBODY);
    bulkhead.failed(second, new VmcpError('cancelled', 'cancelled'));
    assert.equal(bulkhead.count, 1);
    maxCalls = 1;
    assert.throws(() => bulkhead.begin(NOBODY), hasCode('busy'));
    maxCalls = 2;
    bulkhead.begin(NOBODY);
    assert.deepEqual([bulkhead.count, refused], [2, ['a busy', 'a busy']]);
  });

  test('are admitted up to a number of bytes, of which small ones are free', () => {
    maxCalls = 100;
    const large = bulkhead.begin(NOBODY, 700);
    assert.throws(() => bulkhead.begin(NOBODY, 301), hasCode('busy'));
    for (let n = 0; n < 20; n += 1) bulkhead.begin(NOBODY, 100);
    const other = bulkhead.begin(NOBODY, 300);
    assert.throws(() => bulkhead.begin(NOBODY, 101), hasCode('busy'));
    bulkhead.succeeded(large, 700);
    const third = bulkhead.begin(NOBODY, 700);
    bulkhead.failed(other, new VmcpError('cancelled', 'cancelled'), 300);
    bulkhead.succeeded(third, 700);
    bulkhead.begin(NOBODY, 1_000);
    assert.throws(() => bulkhead.begin(NOBODY, 101), hasCode('busy'));
  });

  test('of one user leave the last quarter of the places to others', () => {
    maxCalls = 8;
    const [one, other] = [userOf('one'), userOf('other')];
    const begun = Array.from({ length: 6 }, () => bulkhead.begin(one));
    assert.throws(() => bulkhead.begin(one), hasCode('busy'));
    bulkhead.begin(other);
    bulkhead.begin(NOBODY);
    assert.throws(() => bulkhead.begin(other), hasCode('busy'));
    for (const each of begun) bulkhead.succeeded(each);
    for (let n = 0; n < 4; n += 1) bulkhead.begin(other);
    assert.throws(() => bulkhead.begin(other), hasCode('busy'));
    bulkhead.begin(one);
  });

  test('of one user wait where they would fill more than three quarters of the connections', async () => {
    maxCalls = 100;
    const [one, other] = [userOf('one'), userOf('other')];
    const cancellations = Array.from({ length: 6 }, () => new Cancellation());
    const sent: number[] = [];
    const begun = cancellations.map((signal, index) => {
      const each = bulkhead.begin(one);
      const turn = bulkhead.turn(each, signal);
      if (turn) void turn.then(() => sent.push(index)).catch(() => bulkhead.failed(each, signal.reason));
      else sent.push(index);
      return each;
    });
    assert.deepEqual(sent, [0, 1, 2]);
    for (const user of [other, NOBODY])
      assert.equal(bulkhead.turn(bulkhead.begin(user), new Cancellation()), undefined);
    cancellations[3]?.abort(new VmcpError('cancelled_by_client', 'gone'));
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(sent, [0, 1, 2]);
    for (const each of begun.slice(0, 1)) bulkhead.succeeded(each);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(sent, [0, 1, 2, 4]);
    for (const each of begun.slice(1, 3)) bulkhead.failed(each, new VmcpError('cancelled', 'cancelled'));
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([sent, bulkhead.count], [[0, 1, 2, 4, 5], 4]);
  });

  test('that are refused are no failures', () => {
    bulkhead.begin(NOBODY);
    bulkhead.begin(NOBODY);
    for (let n = 0; n < 100; n += 1) assert.throws(() => bulkhead.begin(NOBODY), hasCode('busy'));
    assert.equal(isOpen(), false);
  });

  test('are all refused while the circuit is open, those of lists by what the lists say', async () => {
    bulkhead.failed(bulkhead.begin(NOBODY), new VmcpError('backend_timeout', 'too late'));
    assert.throws(() => bulkhead.begin(NOBODY), hasCode('circuit_open'));
    const listed = await bulkhead.list(NOBODY, () => assert.fail('nothing is read'));
    assert.deepEqual([listed.status, listed.error?.code, listed.lists], ['unavailable', 'circuit_open', undefined]);
    assert.deepEqual([bulkhead.count, refused], [0, ['a circuit_open', 'a circuit_open']]);
  });

  test('count lists that are read for users, and learn from them', async () => {
    const good = { name: 'a', status: 'ready' } as const;
    assert.equal(await bulkhead.list(NOBODY, async () => good), good);
    const wait = Promise.withResolvers<typeof good>();
    const reading = [bulkhead.list(NOBODY, () => wait.promise), bulkhead.list(NOBODY, () => wait.promise)];
    assert.equal((await bulkhead.list(NOBODY, async () => good)).error?.code, 'busy');
    wait.resolve(good);
    await Promise.all(reading);
    assert.deepEqual([bulkhead.count, isOpen()], [0, false]);
    const error = new VmcpError('backend_timeout', 'too late');
    await bulkhead.list(NOBODY, async () => ({ name: 'a', status: 'unavailable', error }));
    assert.deepEqual([bulkhead.count, isOpen()], [0, true]);
  });
});

describe('what opens the circuit', () => {
  const rows: readonly (readonly [opens: boolean, what: string, code: ErrorCode, more?: VmcpErrorMore])[] = [
    [true, 'a backend that cannot be reached, or answers with a 5xx', 'backend_unreachable'],
    [true, 'silence', 'backend_timeout'],
    [true, 'an answer that breaks off', 'backend_unavailable', { cause: new StreamEndedError('cut') }],
    [true, 'a handshake that fails with a 5xx', 'backend_unavailable', { isOutage: true }],
    [true, 'a token endpoint that is away, silent or broken', 'credential_unavailable', { isOutage: true }],
    [false, 'a token endpoint that refuses', 'credential_unavailable'],
    [false, 'a secret that is missing', 'credential_unavailable', { cause: new Error('ENOENT') }],
    [false, 'a user without a login', 'login_required'],
    [false, 'an answer that is none of MCP, or too large', 'backend_unavailable'],
    [false, 'a 401 or 403', 'backend_unauthenticated'],
    [false, 'no room for a large answer', 'busy'],
    [false, 'a client that cancels', 'cancelled_by_client'],
    [false, 'a client that has gone', 'cancelled'],
    [false, 'a server that stops', 'stopping'],
    [false, 'headers that do not match', 'header_mismatch'],
    [false, 'a fault of ours', 'internal'],
  ];
  for (const [opens, what, code, more] of rows) {
    test(`${what}: ${opens ? 'yes' : 'no'}`, () => {
      bulkhead.failed(bulkhead.begin(NOBODY), new VmcpError(code, what, more));
      assert.equal(isOpen(), opens);
    });
  }
});
