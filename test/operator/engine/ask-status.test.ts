import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { after, before, test } from 'node:test';
import { Agent } from 'undici';
import { NoReport, askStatus } from '../../../operator/engine/ask-status.ts';
import type { StatusReport } from '../../../runtime/status-report.ts';
import { manualClock } from './manual-clock.ts';

/** A loopback address of its own, so that the fixed management port is free. */
const podIP = '127.44.84.2';

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
  return askStatus({ podIP, token: 't' }, { dispatcher, clock }, new AbortController().signal);
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

test('a report comes as it is, without keys that nobody knows', async () => {
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
  test(`${what} is no report`, () => assert.rejects(ask(json(value)), NoReport));
}

test('text that is not JSON is no report, nor is an answer that is no success', async () => {
  await assert.rejects(
    ask((response) => response.end('<html>')),
    NoReport,
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
