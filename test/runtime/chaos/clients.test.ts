import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { answerJson, answerStatus, count, textResult } from '../../fixtures/backend.ts';
import { openScene, type Scene } from './scene.ts';

const CALL = '{"jsonrpc":"2.0","id":"by-hand","method":"tools/call","params":{"name":"bad_echo","arguments":{}}}';

/** Sends a call by hand: as much of its body as it is given. */
const callByHand = (t: { after: (end: () => void) => void }, { running, session }: Scene, body = CALL): Socket => {
  const { hostname, port, pathname, host } = new URL(running.url);
  const socket = connect(Number(port), hostname);
  t.after(() => void socket.destroy());
  const head = [
    `POST ${pathname} HTTP/1.1`,
    `host: ${host}`,
    'content-type: application/json',
    'accept: application/json, text/event-stream',
    `mcp-session-id: ${session.id}`,
    'mcp-protocol-version: 2025-11-25',
    'connection: close',
    `content-length: ${CALL.length}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  return socket;
};

test('a client that hangs up cancels nothing: its call is executed once, ends, and leaves nothing behind', async (t) => {
  const scene = await openScene(t);
  const { promise: release, resolve: held } = Promise.withResolvers<() => void>();
  scene.onCall((exchange) => held(() => answerJson(textResult('done'))(exchange)));
  const socket = callByHand(t, scene);
  const answer = await release;
  socket.destroy();
  await once(socket, 'close');
  answer();
  await scene.ends();
  assert.equal(count(scene.bad, 'notifications/cancelled'), 0);
});

test('a client that reads slowly gets 5 MB whole, and delays no other client', { timeout: 20_000 }, async (t) => {
  const scene = await openScene(t);
  const large = 'z'.repeat(5_000_000);
  scene.onCall(answerJson(textResult(large)));
  const socket = callByHand(t, scene);
  await once(socket, 'readable');
  for (let other = 0; other < 5; other += 1) {
    assert.equal((await scene.session.call('good_echo')).status, 200);
    socket.read(1_000);
  }
  let bytes = 0;
  for await (const chunk of socket) bytes += (chunk as Buffer).length;
  assert.ok(bytes > 4_990_000);
  assert.equal(scene.executions(), 1);
  await scene.ends();
});

test('a client that hangs up in the middle of a large answer leaves nothing behind', async (t) => {
  const scene = await openScene(t);
  scene.onCall(answerJson(textResult('z'.repeat(20_000_000))));
  for (let client = 0; client < 8; client += 1) {
    const socket = callByHand(t, scene, CALL);
    await once(socket, 'readable');
    socket.destroy();
    await once(socket, 'close');
  }
  assert.equal(scene.executions(), 8);
  await scene.ends();
});

test('half a request is no call', async (t) => {
  const scene = await openScene(t);
  scene.onCall(answerStatus(500));
  const socket = callByHand(t, scene, CALL.slice(0, 40));
  assert.equal((await scene.session.request('ping')).status, 200);
  socket.destroy();
  await once(socket, 'close');
  assert.equal(scene.executions(), 0);
  await scene.ends();
});
