import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ClientBackendSessions } from '../../../runtime/backends/index.ts';
import type { Call } from '../../../runtime/call/call.ts';
import { argumentsOf } from '../../../runtime/call/call.ts';
import { innerCalls } from '../../../runtime/call/inner-call.ts';
import type { Span } from '../../../runtime/json/bytes.ts';
import { userOf } from '../../fixtures/callers.ts';
import { silentClient } from '../../fixtures/silent-client.ts';
import { hasCode } from '../store/has-code.ts';

const META = '{"progressToken":"p"}';
const alice = userOf('alice');

const innerCall = innerCalls(() => 'unguessable');

/** A call of `call_tool` with `_meta`, by alice. */
const parent = (): Call => {
  const start = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":';
  const bytes = Buffer.from(`${start}{"name":"call_tool","_meta":${META}}}`);
  const at = (text: string): Span => ({ start: bytes.indexOf(text), end: bytes.indexOf(text) + text.length });
  return {
    caller: alice,
    method: 'tools/call',
    names: 'tool',
    name: 'call_tool',
    origin: 'client',
    depth: 0,
    request: {
      bytes,
      id: Buffer.from('1'),
      target: at('"call_tool"'),
      params: { start: start.length, end: bytes.length - 1 },
      meta: at(META),
    },
    backendSessions: new ClientBackendSessions({ owner: () => alice }),
    signal: new AbortController().signal,
    client: silentClient(),
    headers: { 'mcp-name': 'call_tool' },
  };
};

const textAt = ({ request: { bytes } }: Call, span: Span | undefined): string | undefined =>
  span && bytes.toString('utf8', span.start, span.end);

describe('an inner call', () => {
  test('is one of its caller, over the same backend sessions and to the same client, and is cancelled with its parent', () => {
    const outer = parent();
    const inner = innerCall(outer, { name: 'a_t', args: Buffer.from('{}'), origin: 'workflow' });
    for (const key of ['caller', 'backendSessions', 'signal', 'client'] as const)
      assert.equal(inner[key], outer[key], key);
    const { method, names, name, origin, depth, headers } = inner;
    assert.deepEqual(
      { method, names, name, origin, depth, headers },
      { method: 'tools/call', names: 'tool', name: 'a_t', origin: 'workflow', depth: 1, headers: undefined },
    );
  });

  test('is written as a client would have written it, and tells where its parts lie', () => {
    const args = '{"x": 1.0, "params":{"name":"é"}}';
    const inner = innerCall(parent(), { name: 'say "é"', args: Buffer.from(args), origin: 'optimizer' });
    assert.deepEqual(JSON.parse(inner.request.bytes.toString()), {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'say "é"', arguments: JSON.parse(args) as unknown, _meta: JSON.parse(META) as unknown },
    });
    assert.equal(inner.request.id.toString(), '1', 'that of the client: it is the call of the client');
    assert.equal(textAt(inner, inner.request.target), JSON.stringify('say "é"'));
    assert.equal(textAt(inner, inner.request.meta), META);
    assert.match(textAt(inner, inner.request.params) ?? '', /^\{"name":.*\}$/);
    assert.equal(argumentsOf(inner.request)?.toString(), args);
  });

  test('of a workflow has none of the metadata that its client sent', () => {
    const { request } = innerCall(parent(), { name: 't', args: Buffer.from('{}'), origin: 'workflow' });
    assert.equal(request.meta, undefined);
    assert.equal(request.bytes.includes('_meta'), false);
  });

  test('of a workflow has an id that no client can guess; one of the optimizer takes the answers of the client along', () => {
    const answers = Buffer.from('{"q":{"action":"accept"}}');
    const outer = { ...parent(), answered: { state: 'the state "of" a backend', answers } };
    const args = Buffer.from('{}');
    const step = innerCall(outer, { name: 't', args, origin: 'workflow' });
    assert.equal(step.request.id.toString(), '"vmcp-unguessable"');
    assert.equal(step.answered, undefined);
    const own = innerCall(outer, { name: 't', args, origin: 'optimizer' });
    assert.equal(own.answered, outer.answered);
    const { params } = JSON.parse(own.request.bytes.toString()) as { readonly params: Record<string, unknown> };
    assert.deepEqual(
      [params['requestState'], params['inputResponses']],
      [outer.answered.state, { q: { action: 'accept' } }],
    );
    assert.doesNotMatch(step.request.bytes.toString(), /requestState|inputResponses/);
  });

  for (const args of ['', '[]', '"x"', 'null', '{', '{"a":}', '{} ', '{},"name":"b_secret"', '{}}', '{"a":1}{"b":2}'])
    test(`takes no arguments but one JSON object: not ${JSON.stringify(args)}`, () => {
      const make = () => innerCall(parent(), { name: 't', args: Buffer.from(args), origin: 'workflow' });
      assert.throws(make, hasCode('invalid_params'));
    });
});
