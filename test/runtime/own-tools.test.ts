import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { methodOf } from '../../runtime/call/message.ts';
import { VmcpError } from '../../runtime/errors.ts';
import { openGate } from '../../runtime/gate/index.ts';
import type { Observers } from '../../runtime/observe/index.ts';
import type { Running } from '../../runtime/start.ts';
import { errorOf, resultText } from '../fixtures/answers.ts';
import { count, type FixtureBackend, startBackend } from '../fixtures/backend.ts';
import { openSession, type RawSession } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { bothOf, builtins } from '../fixtures/workflows.ts';

/** One line for each call that has ended. */
const seenCalls: string[] = [];
const seenRequests: string[] = [];

const observers: Partial<Observers> = {
  audit: async (record, next) => {
    try {
      return await next();
    } finally {
      const { caller, message } = record;
      seenRequests.push(`${caller?.kind} ${message && methodOf(message)}`);
    }
  },
  trace: (_record, next) => next(),
  aroundCall: async (call, record, next) => {
    let outcome = 'fault';
    try {
      const reply = await next();
      outcome = 'answered';
      return reply;
    } catch (error) {
      if (error instanceof VmcpError) outcome = error.code;
      throw error;
    } finally {
      const where = record.target?.kind === 'backend' ? record.target.backend : record.target?.kind;
      seenCalls.push(`${call.caller.kind} ${call.origin} ${call.method} ${call.name} → ${where}: ${outcome}`);
    }
  },
};

/** Nobody may use the tool `b_u`. */
const gate = {
  ...openGate,
  authorize: ({ name }: { readonly name: string }) => {
    if (name === 'b_u') throw new VmcpError('forbidden', 'forbidden');
  },
};

describe('a tool that no backend has', () => {
  let backends: Readonly<Record<'a' | 'b', FixtureBackend>>;
  let running: Running;
  let session: RawSession;

  const startWith = async (...names: readonly string[]): Promise<void> => {
    running = await startRuntime(
      configFile(
        { a: backends.a.url, b: backends.b.url },
        { aggregation: { tools: [{ workload: 'a', filter: ['shown'] }] } },
      ),
      {},
      { features: () => ({ gate, observers: [observers], ownTools: { workflow: bothOf(...names) } }) },
    );
    session = await openSession(running.url);
    assert.deepEqual(await session.toolNames(), ['a_shown', 'b_t', 'b_u', 'both']);
    seenCalls.length = 0;
    seenRequests.length = 0;
  };
  before(async () => {
    backends = { a: await startBackend({ tools: ['shown', 'hidden'] }), b: await startBackend({ tools: ['t', 'u'] }) };
  });
  after(() => Promise.all(Object.values(backends).map((backend) => backend.close())));

  test('calls others for its caller, hidden ones too, and each call is seen', async (t) => {
    await startWith('a_hidden', 'b_t');
    t.after(() => running.stop());
    const answers = JSON.parse(resultText(await session.call('both', { x: 1.0 }))) as readonly {
      readonly id: string;
      readonly result: { readonly content: readonly { readonly text: string }[] };
    }[];
    assert.deepEqual(
      answers.map(({ result }) => result.content[0]?.text),
      ['hidden {"x":1}', 't {"x":1}'],
    );
    for (const { id } of answers) assert.match(id, /^vmcp-[0-9a-f-]{36}$/);
    assert.deepEqual(seenCalls, [
      'anonymous workflow tools/call a_hidden → a: answered',
      'anonymous workflow tools/call b_t → b: answered',
      'anonymous client tools/call both → workflow: answered',
    ]);
  });

  test('goes no way around a policy, nor does its client see what only it may use', async (t) => {
    await startWith('b_u');
    t.after(() => running.stop());
    assert.equal(errorOf(await session.call('both')).data.reason, 'forbidden');
    assert.equal(errorOf(await session.call('a_hidden')).data.reason, 'unknown_name');
    assert.equal(count(backends.b, 'tools/call'), 1, 'that of the test before');
    assert.deepEqual(seenCalls, [
      'anonymous workflow tools/call b_u → b: forbidden',
      'anonymous client tools/call both → workflow: forbidden',
      'anonymous client tools/call a_hidden → undefined: unknown_name',
    ]);
  });

  test('that calls itself ends, and so does one of a hidden tool’s name', async (t) => {
    await startWith('both');
    t.after(() => running.stop());
    assert.match(errorOf(await session.call('both')).message, /more than 8 deep/);
    assert.equal(seenCalls.length, 9);
  });

  test('what is answered without a backend is seen with its method', async (t) => {
    await startWith('b_t');
    t.after(() => running.stop());
    await session.request('prompts/list');
    await session.request('ping');
    await session.request('no/such');
    await session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } });
    await session.send({ jsonrpc: '2.0', id: 'q', result: {} });
    await fetch(running.url, { headers: { 'mcp-session-id': session.id, accept: 'text/event-stream' } }).then(
      ({ body }) => body?.cancel(),
    );
    await session.end();
    assert.deepEqual(seenRequests, [
      'anonymous prompts/list',
      'anonymous ping',
      'anonymous no/such',
      'anonymous notifications/cancelled',
      'anonymous response',
      'anonymous GET',
      'anonymous DELETE',
    ]);
  });
});

test('a tool that no backend has gives way to one of the same name, and the loss is told', async (t) => {
  const backend = await startBackend({ tools: ['both'] });
  const aggregation = { conflictResolutionConfig: { prefixFormat: '' } };
  const running = await startRuntime(
    configFile({ a: backend.url }, { aggregation }),
    {},
    { features: () => ({ ownTools: { workflow: bothOf() } }) },
  );
  t.after(async () => {
    await running.stop();
    await backend.close();
  });
  const session = await openSession(running.url);
  assert.deepEqual(await session.toolNames(), ['both']);
  assert.equal(resultText(await session.call('both', {})), 'both {}');
  assert.deepEqual(running.status().collisions, [{ kind: 'tools', name: 'both', keptBy: 'a', lostBy: 'workflow' }]);
});

test('tools of two features are offered together, each served by its own, and of equal names that of the runtime stays', async (t) => {
  const backend = await startBackend({ tools: ['t'] });
  const ownTools = { workflow: bothOf('a_t'), builtin: builtins(['own', 'a_t']) };
  const running = await startRuntime(configFile({ a: backend.url }), {}, { features: () => ({ ownTools }) });
  const other = await startRuntime(
    configFile({ a: backend.url }),
    {},
    { features: () => ({ ownTools: { ...ownTools, builtin: builtins(['both']) } }) },
  );
  t.after(async () => {
    await Promise.all([running.stop(), other.stop()]);
    await backend.close();
  });
  const session = await openSession(running.url);
  assert.deepEqual(await session.toolNames(), ['a_t', 'both', 'own']);
  assert.equal(resultText(await session.call('own')), 'builtin own');
  assert.match(resultText(await session.call('both', { x: 1 })), /t {\\"x\\":1}/);
  assert.deepEqual(running.status().collisions, [{ kind: 'tools', name: 'a_t', keptBy: 'a', lostBy: 'builtin' }]);

  const second = await openSession(other.url);
  assert.deepEqual(await second.toolNames(), ['a_t', 'both']);
  assert.equal(resultText(await second.call('both')), 'builtin both');
  assert.deepEqual(other.status().collisions, [{ kind: 'tools', name: 'both', keptBy: 'builtin', lostBy: 'workflow' }]);
});

test('tools that stand alone are all that is listed, whoever has their names, and the others are called as before', async (t) => {
  const backend = await startBackend({ tools: ['t', 'own'] });
  const aggregation = { conflictResolutionConfig: { prefixFormat: '' } };
  const ownTools = { workflow: bothOf('t', 'own'), builtin: builtins(['own'], { isAlone: true }) };
  const running = await startRuntime(
    configFile({ a: backend.url }, { aggregation }),
    {},
    { features: () => ({ ownTools }) },
  );
  t.after(async () => {
    await running.stop();
    await backend.close();
  });
  const session = await openSession(running.url);
  assert.deepEqual(await session.toolNames(), ['own']);
  assert.equal(resultText(await session.call('own')), 'builtin own');
  assert.equal(resultText(await session.call('t')), 't {}');
  assert.match(resultText(await session.call('both')), /"t {}".*"own {}"/, 'a step reaches the tool of the backend');
  assert.deepEqual(running.status().collisions, [{ kind: 'tools', name: 'own', keptBy: 'builtin', lostBy: 'a' }]);
});
