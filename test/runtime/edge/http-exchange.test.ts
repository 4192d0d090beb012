import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { ByteBudget } from '../../../runtime/process/byte-budget.ts';
import { KEEP_ALIVE } from '../../../runtime/edge/event-stream.ts';
import { hostCheck } from '../../../runtime/edge/hosts.ts';
import { HttpExchange } from '../../../runtime/edge/http-exchange.ts';
import { Ingress } from '../../../runtime/edge/ingress.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';

test('a stream that says nothing is kept alive every 15 s, until it ends', async (t) => {
  const clock = frozenClock();
  const bounds = { uncountedBytes: 1_000, stallMs: 10_000, answerYieldsMs: 10_000, requests: 1, bodyYieldsMs: 1_000 };
  const hosts = hostCheck({ allowedHosts: [], allowedOrigins: [], trustedProxies: [] });
  const nothing = new ByteBudget(0);
  const budgets = { bodies: nothing, answers: nothing };
  const onCut = (reason: string): void => assert.fail(reason);
  const ingress = new Ingress({ hosts: () => hosts, clock, bounds, onCut, ...budgets });
  const opened = Promise.withResolvers<HttpExchange>();
  const server = createServer((request, response) => {
    const readBody = (): Promise<void> => Promise.reject(new Error('there is none'));
    const newCorrelationId = (): string => 'id';
    const held = ingress.enter(request, response);
    const exchange = new HttpExchange(request, response, held, { clock, newCorrelationId, bounds, onCut, readBody });
    exchange.stream({ kind: 'stream', open: () => {} });
    opened.resolve(exchange);
  }).listen(0, '127.0.0.1');
  t.after(() => void server.close());
  await once(server, 'listening');
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  const reader = response.body?.getReader();
  assert.ok(reader);
  await opened.promise;
  for (let comments = 0; comments < 3; comments += 1) {
    clock.advance(15_000);
    const read: { readonly value?: Uint8Array | undefined } = await reader.read();
    assert.equal(Buffer.from(read.value ?? []).toString(), KEEP_ALIVE.toString());
  }
  await reader.cancel();
  while (clock.pending().length > 0) await new Promise((resolve) => setImmediate(resolve));
});
