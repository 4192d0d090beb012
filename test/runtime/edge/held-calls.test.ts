import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { ClientBackendSessions } from '../../../runtime/backends/index.ts';
import type { Call } from '../../../runtime/call/call.ts';
import type { Caller } from '../../../runtime/call/caller.ts';
import type { Reply } from '../../../runtime/call/reply.ts';
import { Cancellation } from '../../../runtime/process/cancellation.ts';
import { HeldCalls } from '../../../runtime/edge/held-calls.ts';
import { ModernClient } from '../../../runtime/edge/modern-client.ts';
import { readEnvelope } from '../../../runtime/edge/envelope.ts';
import { VmcpError } from '../../../runtime/errors.ts';
import { LIMITS } from '../../../runtime/limits.ts';
import type { ClientAnswer } from '../../../runtime/call/questions.ts';
import { userOf } from '../../fixtures/callers.ts';
import { frozenClock, type FrozenClock } from '../../fixtures/frozen-clock.ts';

const TTL_MS = 60_000;
const ADA: Caller = userOf('ada');
const MIB = 1024 * 1024;
const aMoment = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

let clock: FrozenClock;
let calls: HeldCalls;
let ids = 0;
beforeEach(() => {
  clock = frozenClock();
  calls = new HeldCalls({ clock, newId: () => `held-call-number-${(ids += 1)}`, ttlMs: () => TTL_MS });
});

interface Sent {
  readonly caller?: Caller;
  readonly address?: string;
  readonly state?: string;
  readonly answers?: object;
  /** Bytes of the argument. */
  readonly size?: number;
  /** Bytes of the question. */
  readonly question?: number;
}

interface Held {
  readonly client: ModernClient;
  readonly cancellation: Cancellation;
  readonly reply: Promise<Reply>;
  /** What the backend is answered. */
  readonly answer: Promise<ClientAnswer>;
  /** What the backend does: its result, or its failure. */
  readonly outcome: PromiseWithResolvers<Reply>;
  readonly signal: AbortController;
}

const result = (text = '{}'): Reply => ({
  kind: 'whole',
  status: 200,
  body: Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${text}}`),
});

const question = (bytes = 2) => ({
  method: 'roots/list',
  params: Buffer.from(JSON.stringify({ x: 'x'.repeat(bytes) })),
  key: 'who',
});

/** A call whose backend asks for the roots, unless it goes on with another. */
const serve = ({ caller = ADA, address = '192.0.2.1', state, answers, size = 1, question: asked }: Sent = {}): Held => {
  const params = { name: 't', arguments: { x: 'x'.repeat(size) } };
  const envelope = readEnvelope(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })));
  const cancellation = new Cancellation();
  const client = new ModernClient({
    request: { send: () => true, backlog: () => undefined, clientAddress: address },
    capabilities: Buffer.from('{"roots":{}}'),
    logLevel: undefined,
    cancellation,
  });
  const { body: bytes, id = Buffer.from('1'), name = { start: 0, end: 0 }, params: span, meta } = envelope;
  const call: Call = {
    caller,
    method: 'tools/call',
    name: 't',
    names: 'tool',
    origin: 'client',
    depth: 0,
    request: { bytes, id, target: name, params: span, meta },
    backendSessions: new ClientBackendSessions({ owner: () => caller }),
    signal: cancellation,
    client,
    answered: state === undefined ? undefined : { state, answers: answers && Buffer.from(JSON.stringify(answers)) },
  };
  const outcome = Promise.withResolvers<Reply>();
  const answer = Promise.withResolvers<ClientAnswer>();
  const signal = new AbortController();
  const backend = (): Promise<Reply> => {
    cancellation.addEventListener('abort', () => outcome.reject(cancellation.reason));
    client.ask(question(asked), signal.signal).then(answer.resolve, answer.reject);
    return outcome.promise;
  };
  for (const { promise } of [outcome, answer]) promise.catch(() => {});
  let reply: Promise<Reply>;
  try {
    reply = calls.serve(call, backend);
  } catch (error) {
    reply = Promise.reject(error);
  }
  reply.catch(() => {});
  return { client, cancellation, reply, answer: answer.promise, outcome, signal };
};

const stateIn = async ({ reply }: Held): Promise<string> => {
  const answered = await reply;
  assert.ok(answered.kind === 'whole');
  const { result: asked } = JSON.parse(String(answered.body)) as { result: { requestState?: string } };
  assert.ok(asked.requestState !== undefined, String(answered.body));
  return asked.requestState;
};

/** Holds calls until one is refused; how many were held. */
const fill = async (sent: Sent = {}): Promise<readonly Held[]> => {
  const held: Held[] = [];
  for (;;) {
    const next = serve(sent);
    try {
      await stateIn(next);
    } catch (error) {
      assert.equal((error as VmcpError).code, 'busy');
      return held;
    }
    held.push(next);
  }
};

describe('of calls that are held', () => {
  test('a user has 64, whatever address they come from, and others have theirs', async () => {
    assert.equal((await fill()).length, LIMITS.heldCallsPerClient);
    await assert.rejects(serve({ address: '192.0.2.9' }).reply, { code: 'busy' });
    await stateIn(serve({ caller: userOf('bob') }));
  });

  test('anonymous clients at one address have 64 together', async () => {
    const caller: Caller = { kind: 'anonymous' };
    assert.equal((await fill({ caller })).length, LIMITS.heldCallsPerClient);
    await assert.rejects(serve({ caller }).reply, { code: 'busy' });
    await stateIn(serve({ caller, address: '198.51.100.1' }));
    await stateIn(serve());
  });

  test('all together have 1,024', async () => {
    let all = 0;
    for (let n = 0; all < LIMITS.heldCalls; n += 1) all += (await fill({ caller: userOf(`user ${n}`) })).length;
    assert.equal(all, LIMITS.heldCalls);
    await assert.rejects(serve({ caller: userOf('one more') }).reply, { code: 'busy' });
  });

  test('all together have 64 MiB of requests, questions and results that wait', async () => {
    assert.equal((await fill({ size: 3 * MIB })).length, 21);
    await assert.rejects(serve({ caller: userOf('bob'), size: 2 * MIB }).reply, { code: 'busy' });
    const small = serve({ caller: userOf('bob'), question: 2 * MIB });
    await assert.rejects(small.answer, { code: 'busy' });
  });

  const endings: Readonly<Record<string, (held: Held) => unknown>> = {
    'whose result its client has fetched': async (held) => {
      held.outcome.resolve(result());
      await serve({ state: await stateIn(held), size: 3 * MIB }).reply;
    },
    'whose error its client has fetched': async (held) => {
      held.outcome.reject(new VmcpError('backend_unavailable', 'down'));
      const later = serve({ state: await stateIn(held), size: 3 * MIB });
      await assert.rejects(later.reply, { code: 'backend_unavailable' });
    },
    'that ends while its client is here': async (held) => {
      const answers = { who: { roots: [] } };
      const later = serve({ state: await stateIn(held), size: 3 * MIB, answers });
      assert.equal((await held.answer).kind, 'result');
      held.outcome.resolve(result());
      await later.reply;
    },
    'whose client has not come back': () => clock.advance(TTL_MS),
    'whose client has not come back for its result': async (held) => {
      held.outcome.resolve(result());
      await aMoment();
      clock.advance(TTL_MS);
    },
    'whose client has closed the request that goes on with it': async (held) => {
      const later = serve({ state: await stateIn(held), size: 3 * MIB });
      later.cancellation.abort(new VmcpError('cancelled', 'gone'));
      await assert.rejects(later.reply, { code: 'cancelled' });
      assert.ok(held.cancellation.aborted);
    },
  };
  for (const [how, end] of Object.entries(endings))
    test(`one ${how} gives its place and its room to another`, async () => {
      const held = serve({ size: 3 * MIB });
      await stateIn(held);
      await end(held);
      await aMoment();
      assert.equal((await fill()).length, LIMITS.heldCallsPerClient);
      clock.advance(TTL_MS);
      assert.equal((await fill({ size: 3 * MIB })).length, 21);
      clock.advance(TTL_MS);
      assert.deepEqual(clock.pending(), []);
    });

  test('a question has its room only until it is answered', async () => {
    const held = serve({ question: 24 * MIB });
    let state = await stateIn(held);
    for (let round = 0; round < 3; round += 1) {
      const later = serve({ state, answers: { who: {} } });
      await aMoment();
      const again = held.client.ask(question(24 * MIB), held.signal.signal).catch((error: unknown) => error);
      state = await Promise.race([stateIn(later), again.then((error) => Promise.reject(error))]);
    }
  });

  test('a result that is too large to be kept becomes an error', async () => {
    const held = serve();
    const state = await stateIn(held);
    held.outcome.resolve(result(JSON.stringify('x'.repeat(64 * MIB))));
    await aMoment();
    await assert.rejects(serve({ state }).reply, { code: 'busy', message: /too large to be kept/ });
  });
});

describe('a call that is over', () => {
  test('is not held for what its backend asks then', async () => {
    for (const end of ['result', 'cancelled']) {
      const held = serve();
      await stateIn(held);
      if (end === 'cancelled') held.client.cancel(new VmcpError('cancelled', 'gone'));
      else held.outcome.resolve(result());
      await aMoment();
      await assert.rejects(held.client.ask(question(10 * MIB), held.signal.signal), { code: 'cancelled' });
    }
    clock.advance(TTL_MS);
    assert.equal((await fill({ size: 3 * MIB })).length, 21);
    clock.advance(TTL_MS);
    assert.deepEqual(clock.pending(), []);
  });

  test('leaves no question open', async () => {
    const held = serve();
    await stateIn(held);
    clock.advance(TTL_MS);
    await assert.rejects(held.answer, { code: 'cancelled', message: 'the call is over' });
    assert.match(String(held.cancellation.reason), /did not come back/);
  });
});

test('a question whose name is one of ours has it, and every question is asked', async () => {
  const held = serve();
  const { signal } = held.signal;
  for (const key of ['q1', undefined, 'q2', undefined, 'q3', 'who'])
    void held.client.ask({ method: 'roots/list', params: undefined, key }, signal).catch(() => {});
  const reply = await held.reply;
  assert.ok(reply.kind === 'whole');
  const { inputRequests } = (JSON.parse(String(reply.body)) as { result: { inputRequests: object } }).result;
  assert.equal(Object.keys(inputRequests).length, 7);
});

test('the 33rd open question is refused', async () => {
  const held = serve();
  const { signal } = held.signal;
  const asked = Array.from({ length: 31 }, () => held.client.ask(question(), signal));
  for (const each of asked) each.catch(() => {});
  await assert.rejects(held.client.ask(question(), signal), { code: 'busy' });
  await stateIn(held);
});
