import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SessionLinks } from '../../runtime/backends/index.ts';
import { argumentsOf } from '../../runtime/call-arguments.ts';
import type { Call } from '../../runtime/call.ts';
import { Cancellation } from '../../runtime/cancellation.ts';
import { innerCalls } from '../../runtime/inner-call.ts';
import { memberAt } from '../../runtime/json-members.ts';
import { userOf } from '../fixtures/callers.ts';

const alice = userOf('alice');
const bytes = Buffer.from('{"id":1,"params":{"name":"outer","_meta":{"progressToken":7}}}');
const params = memberAt(bytes, 0, 'params');

const outer: Call = {
  caller: alice,
  method: 'tools/call',
  name: 'outer',
  names: 'tool',
  origin: 'client',
  depth: 0,
  request: {
    bytes,
    id: Buffer.from('1'),
    target: { start: 0, end: 0 },
    params,
    meta: params && memberAt(bytes, params.start, '_meta'),
  },
  links: new SessionLinks({ speaksFor: () => alice }),
  signal: new Cancellation(),
  client: {
    era: 'legacy',
    capabilities: Buffer.from('{}'),
    logLevel: undefined,
    notify: () => {},
    ask: () => Promise.reject(new Error('nothing is asked')),
  },
};

let ids = 0;
const innerCall = innerCalls(() => String((ids += 1)));
const innerOf = (args: string, origin: 'workflow' | 'optimizer' = 'workflow'): Call =>
  innerCall(outer, { name: 'a"b', args: Buffer.from(args), origin });

describe('an inner call', () => {
  test('has the arguments that it is given, and nothing else', () => {
    const { request } = innerOf('{"x":1.0,"é":"}"}');
    assert.equal(argumentsOf(request)?.toString(), '{"x":1.0,"é":"}"}');
    assert.equal(request.bytes.subarray(request.target.start, request.target.end).toString(), '"a\\"b"');
    assert.equal(request.meta, undefined);
    const { method, params: parsed } = JSON.parse(request.bytes.toString()) as { method: string; params: object };
    assert.deepEqual(
      { method, parsed },
      { method: 'tools/call', parsed: { name: 'a"b', arguments: { x: 1, é: '}' } } },
    );
  });

  test('of the optimizer keeps what its client said about the call', () => {
    const { meta, bytes: text } = innerOf('{}', 'optimizer').request;
    assert.equal(text.subarray(meta?.start, meta?.end).toString(), '{"progressToken":7}');
  });

  for (const args of ['', '[]', 'null', '"x"', '{}}', '{},"name":"other"', '{},"name":{}', '{"a":1', ' {}'])
    test(`takes no arguments that are not one JSON object: ${args}`, () =>
      assert.throws(() => innerOf(args), { code: 'invalid_params' }));

  test('is of the caller, the sessions and the end of the one it is made within, with an id of its own', () => {
    const [one, two] = [innerOf('{}'), innerOf('{}')];
    for (const { caller, links, signal, client, depth } of [one, two])
      assert.deepEqual(
        [caller === alice, links === outer.links, signal === outer.signal, client === outer.client, depth],
        [true, true, true, true, 1],
      );
    assert.notDeepEqual(one.request.id, two.request.id);
  });

  test('is refused within eight others', () => {
    const inner = { name: 'x', args: Buffer.from('{}'), origin: 'workflow' } as const;
    assert.equal(innerCall({ ...outer, depth: 7 }, inner).depth, 8);
    assert.throws(() => innerCall({ ...outer, depth: 8 }, inner), { code: 'invalid_params' });
  });
});
