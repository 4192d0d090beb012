import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { Agent } from 'undici';
import { attach, type Attachment, BOUNDS } from '../../../operator/bridge/index.ts';
import { until } from '../../cluster/until.ts';
import { frozenClock, type FrozenClock } from '../../fixtures/frozen-clock.ts';
import { type AttachServer, startAttachServer } from './attach-server.ts';

describe('an attachment', () => {
  let server: AttachServer;
  let dispatcher: Agent;
  let clock: FrozenClock;
  let output: string;
  beforeEach(async () => {
    server = await startAttachServer();
    dispatcher = new Agent();
    clock = frozenClock();
    output = '';
  });
  afterEach(async () => {
    await dispatcher.destroy();
    await server.close();
  });

  const attachTo = ({ origin }: AttachServer): Promise<Attachment> =>
    attach(
      { namespace: 'team a', pod: 'server-0', container: 'mcp' },
      {
        connection: { origin, pathPrefix: '/prefix', dispatcher, authorization: () => Promise.resolve('Bearer token') },
        clock,
        onOutput: (chunk) => {
          output += chunk.toString();
        },
      },
      new AbortController().signal,
    );

  test('asks for standard input and output of the container, and proves who it is', async () => {
    await attachTo(server);
    const [{ url, headers } = {}] = server.requests;
    assert.equal(
      url,
      '/prefix/api/v1/namespaces/team%20a/pods/server-0/attach?container=mcp&stdin=true&stdout=true&stderr=false&tty=false',
    );
    assert.equal(headers?.authorization, 'Bearer token');
    assert.equal(headers['sec-websocket-protocol'], 'v5.channel.k8s.io, v4.channel.k8s.io');
  });

  test('sends lines, large ones in pieces, and takes what the container writes', async () => {
    const { link } = await attachTo(server);
    const large = 'x'.repeat(100_000);
    assert.equal(link.send(Buffer.from('{"a":1}')), true);
    assert.equal(link.send(Buffer.from(large)), true);
    await until('the lines', () => Promise.resolve(server.stdin() === `{"a":1}\n${large}\n` || undefined));
    server.say(1, '{"b":2}\n');
    server.say(2, 'standard error');
    await until('the output', () => Promise.resolve(output === '{"b":2}\n' || undefined));
  });

  test('takes no more than the server reads', async () => {
    const { link } = await attachTo(server);
    const half = Buffer.alloc(BOUNDS.waitingBytes / 2 + 1, 'x');
    assert.deepEqual([link.send(half), link.send(half)], [true, false]);
  });

  test('says that the container has exited only where the API server does', async () => {
    const exited = await attachTo(server);
    server.say(3, JSON.stringify({ status: 'Success' }));
    server.end('closed');
    assert.equal((await exited.ended).hasExited, true);
    const failed = await attachTo(server);
    server.say(3, JSON.stringify({ status: 'Failure', message: 'the kubelet is going' }));
    server.end('closed');
    assert.deepEqual(await failed.ended, { hasExited: false, reason: 'the kubelet is going' });
    const broken = await attachTo(server);
    server.end('broken');
    assert.equal((await broken.ended).hasExited, false);
    assert.equal(broken.link.send(Buffer.from('late')), false);
  });

  test('finds out that the API server has gone silent', async () => {
    const { ended } = await attachTo(server);
    for (const pings of [1, 2, 3]) {
      clock.advance(30_000);
      await until('the ping', () => Promise.resolve(server.pings() === pings || undefined));
      await until('the pong', () => Promise.resolve(true));
    }
    server.beSilent();
    clock.advance(90_000);
    clock.advance(30_000);
    assert.deepEqual(await ended, { hasExited: false, reason: 'the API server has gone silent' });
  });

  test('that is refused does not come about', async () => {
    const refusing = await startAttachServer({ refuses: true });
    await assert.rejects(attachTo(refusing), /does not let us attach/);
    await refusing.close();
  });
});
