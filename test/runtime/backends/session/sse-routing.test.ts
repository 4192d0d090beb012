import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { receiverOf, type AwaitingRequest, progressTokenIn } from '../../../../runtime/backends/session/sse-routing.ts';

interface Row extends AwaitingRequest {
  readonly name: string;
}

const request = (name: string, id: string, more: { isCall?: boolean; token?: string } = {}): Row => ({
  name,
  id: Buffer.from(id),
  isCall: more.isCall ?? true,
  progressToken: () => (more.token === undefined ? undefined : Buffer.from(more.token)),
});

const one = request('one', '1', { token: '"t"' });
const two = request('two', '"2"', { token: '7' });
const ping = request('ping', '"vmcp-ping"', { isCall: false });

/** Whom the message goes to. */
const to = (message: object | string, ...waiting: readonly Row[]): string => {
  const text = typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', ...message });
  const found = receiverOf(Buffer.from(text), waiting);
  if (found.kind === 'answered') return `answers ${found.request.name}`;
  return found.kind === 'call' ? found.call.name : found.kind;
};

const note = (method: string, params?: unknown) => ({ method: `notifications/${method}`, params });
const progress = (progressToken: unknown) => note('progress', { progressToken, progress: 1 });
const log = note('message', { level: 'info', data: 'x' });
const question = { id: 'q', method: 'elicitation/create', params: {} };

const rows: readonly (readonly [what: string, found: string, expected: string])[] = [
  ['an answer goes to the request with its id', to({ id: '2', result: {} }, one, two, ping), 'answers two'],
  ['however that is spelt', to('{"jsonrpc":"2.0","id":1.0,"result":{}}', one, two), 'answers one'],
  ['an error too', to({ id: 1, error: { code: 1, message: '' } }, one, two), 'answers one'],
  ['an answer to nothing is for nobody', to({ id: 3, result: {} }, one, two), 'nobody'],
  ['an error without an id goes to the only request', to({ id: null, error: {} }, one), 'answers one'],
  ['and to nobody among several', to({ error: {} }, one, two), 'nobody'],
  ['progress goes to the call with its token', to(progress(7), one, two), 'two'],
  ['also of a text', to(progress('t'), one, two), 'one'],
  ['progress of no call under way goes to the session', to(progress('other'), one), 'session'],
  ['and so does that of two', to(progress(7), two, { ...two, name: 'three', id: Buffer.from('3') }), 'session'],
  ['odd progress, too', to(note('progress', [1]), one, two), 'session'],
  ['a log message goes to the only call', to(log, one, ping), 'one'],
  ['and to the session when there are more', to(log, one, two), 'session'],
  ['or none', to(log, ping), 'session'],
  ['so does the end of an elicitation', to(note('elicitation/complete', {}), one), 'one'],
  ['a question goes to the only call', to(question, one), 'one'],
  ['and to the session when there are more', to(question, one, two), 'session'],
  ['a ping is about the session', to({ id: 1, method: 'ping' }, one), 'session'],
  ['a changed list, too', to(note('tools/list_changed'), one), 'session'],
  ['and an updated resource', to(note('resources/updated', { uri: 'a:b' }), one), 'session'],
  ['whoever was asked hears that it is no longer', to(note('cancelled', { requestId: 'q' }), one, two), 'all'],
  ['garbage goes to the only call', to('no JSON', one, ping), 'one'],
  ['and to nobody among several', to('no JSON', one, two), 'nobody'],
];

describe('what comes on the one stream of HTTP+SSE', () => {
  for (const [what, found, expected] of rows) test(what, () => assert.equal(found, expected));

  test('knows a progress token as it was spelt', () => {
    const token = (params: unknown) =>
      progressTokenIn(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })))?.toString();
    assert.equal(token({ name: 'x', _meta: { progressToken: 'a"b' } }), '"a\\"b"');
    assert.equal(token({ name: 'x', _meta: { progressToken: 3 } }), '3');
    for (const params of [undefined, { name: 'x' }, { _meta: 'x' }, [{ _meta: {} }], { _meta: {} }])
      assert.equal(token(params), undefined);
  });
});
