import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { after, before, test } from 'node:test';
import { Agent } from 'undici';
import { InvalidReportError, statusFetcher } from '../../../operator/engine/fetch-status.ts';
import type { StatusReport } from '../../../runtime/status/report.ts';
import { manualClock } from './manual-clock.ts';
import { checkHere, checkIn, type CheckReport } from '../../../operator/offload/check-report.ts';
import { WorkThread, TooCostlyError } from '../../../operator/threads/work-thread.ts';
import { steadyClock } from '../../../runtime/process/system-clock.ts';

/** A loopback address of its own, so that the fixed management port is free. */
const podIP = '127.44.84.2';

const pod = { namespace: 'here', podIP, token: 't' };

let answer: (response: ServerResponse) => void;
const clock = manualClock();
const dispatcher = new Agent();
const server = createServer((_, response) => answer(response));
before(async () => {
  server.listen(4484, podIP);
  await once(server, 'listening');
});
after(async () => {
  server.closeAllConnections();
  server.close();
  await dispatcher.destroy();
});

const ask = (given: typeof answer): Promise<StatusReport> => {
  answer = given;
  return statusFetcher({ dispatcher, clock, check: checkHere })(pod, new AbortController().signal);
};

const report: StatusReport = {
  version: '1',
  config: { hash: 'h' },
  toolCount: 2,
  backends: [
    { name: 'a', status: 'ready', consecutiveFailures: 0, toolCount: 2, lastHealthCheck: '2026-11-20T12:00:00.123Z' },
  ],
  collisions: [{ name: 'x', keptBy: 'a', lostBy: 'b' }],
};

const json =
  (value: unknown): typeof answer =>
  (response) =>
    response.end(JSON.stringify(value));

test('a report comes as it is, without unknown keys', async () => {
  assert.deepEqual(await ask(json({ ...report, new: true })), report);
});

const backend = report.backends[0];
const refused: readonly (readonly [string, unknown])[] = [
  ['no object', null],
  ['another object', { status: 'ok' }],
  ['a backend that is none', { ...report, backends: [null] }],
  ['a count in words', { ...report, toolCount: '1e9' }],
  ['a negative count', { ...report, backends: [{ ...backend, toolCount: -1 }] }],
  ['a status nobody knows', { ...report, backends: [{ ...backend, status: 'splendid' }] }],
  ['a time that is none', { ...report, backends: [{ ...backend, lastHealthCheck: 'today' }] }],
  ['more backends than can be', { ...report, backends: Array.from({ length: 5001 }, () => backend) }],
];
for (const [what, value] of refused) {
  test(`${what} is no report`, () => assert.rejects(ask(json(value)), InvalidReportError));
}

test('text that is not JSON is no report, nor is an answer that is no success', async () => {
  await assert.rejects(
    ask((response) => response.end('<html>')),
    InvalidReportError,
  );
  await assert.rejects(
    ask((response) => response.writeHead(401).end(JSON.stringify(report))),
    /answered 401/,
  );
});

test('long texts and long lists of what went wrong are cut', async () => {
  const collisions = Array.from({ length: 500 }, (_, index) => ({ name: `x${index}`, keptBy: 'a', lostBy: 'b' }));
  const refusals = Array.from({ length: 500 }, () => 'ä'.repeat(5000));
  const cut = await ask(json({ ...report, collisions, config: { hash: 'h', refused: refusals.slice(0, 100) } }));
  assert.equal(cut.collisions.length, 100);
  assert.equal(cut.config.refused?.[0]?.length, 1024);
});

test('a body without an end is read for a mebibyte at most', async () => {
  let sent = 0;
  const chunk = Buffer.alloc(64 * 1024, ' ');
  await assert.rejects(
    ask((response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(chunk)) sent += chunk.length;
        sent += chunk.length;
      };
      response.on('drain', more);
      more();
    }),
    /more than 1048576 bytes/,
  );
  assert.ok(sent < 16 * 1024 * 1024, `${sent} bytes were taken`);
});

test('silence ends after five seconds', async () => {
  const asked = Promise.withResolvers<void>();
  const silent = ask(() => asked.resolve());
  await asked.promise;
  await Promise.all([assert.rejects(silent, /no answer within 5 s/), clock.advance(5000)]);
});

test('a report that is large is read beside everything else, on the turn of the namespace of its pod', async () => {
  const thread = new WorkThread(
    { entry: new URL('../../../operator/main.ts', import.meta.url), limitMs: 30_000, heapMiB: 128 },
    steadyClock,
  );
  const asked: string[] = [];
  const check = checkIn({
    run: (task, input, tenant) => {
      asked.push(`${task} of ${tenant}`);
      return thread.run(task, input, tenant);
    },
  });
  const large = { ...report, backends: Array.from({ length: 200 }, () => backend) };
  const body = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
  try {
    assert.deepEqual(await check(body(report), 'team-a'), { report });
    assert.deepEqual(asked, []);
    assert.deepEqual(await check(body(large), 'team-a'), { report: large });
    const none = await check(body({ ...large, toolCount: 'many' }), 'team-b');
    assert.match('problem' in none ? none.problem : '', /^toolCount: /);
    assert.deepEqual(asked, ['report of team-a', 'report of team-b']);
  } finally {
    await thread.stop();
  }
  const tooCostly = checkIn({ run: () => Promise.reject(new TooCostlyError('takes too much memory')) });
  assert.deepEqual(await tooCostly(body(large), 'a'), { problem: 'reading it takes too much memory' });
});

test('of the pods of one namespace a few are read at once, however many answer; others do not wait for them', async () => {
  answer = json(report);
  const reading: string[] = [];
  const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
  const { promise: isAsked, resolve: markAsked } = Promise.withResolvers<void>();
  const check: CheckReport = async (_, namespace) => {
    reading.push(namespace);
    if (namespace === 'there') markAsked();
    await mayEnd;
    return { report };
  };
  const askOne = statusFetcher({ dispatcher, clock, check });
  const { signal } = new AbortController();
  let answered = 0;
  const countedAnswer = answer;
  const { promise: allAnswered, resolve: markAnswered } = Promise.withResolvers<void>();
  answer = (response) => {
    countedAnswer(response);
    answered += 1;
    if (answered === 20) markAnswered();
  };
  const here = Array.from({ length: 20 }, () => askOne(pod, signal));
  await allAnswered;
  const there = askOne({ ...pod, namespace: 'there' }, signal);
  await isAsked;
  assert.deepEqual(reading.toSorted(), ['here', 'here', 'here', 'here', 'there']);
  end();
  assert.deepEqual((await Promise.all([...here, there])).length, 21);
});
