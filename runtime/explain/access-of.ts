import type { Access, Caller, RelayedRequest } from '../call/index.ts';
import type { Question } from './question.ts';

const METHOD = { tool: 'tools/call', prompt: 'prompts/get', resource: 'resources/read' } as const;

/** The access that a client's request for this would be. */
export const accessOf = ({ kind, name, args }: Question, caller: Caller): Access => ({
  caller,
  method: METHOD[kind],
  name,
  names: kind,
  origin: 'client',
  request: requestOf(kind, name, args),
});

const requestOf = (kind: Question['kind'], name: string, args: Buffer | undefined): RelayedRequest => {
  const head = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(METHOD[kind])},"params":`);
  const named = Buffer.from(`{${JSON.stringify(kind === 'resource' ? 'uri' : 'name')}:`);
  const target = Buffer.from(JSON.stringify(name));
  const rest = args ? Buffer.concat([Buffer.from(',"arguments":'), args, Buffer.from('}')]) : Buffer.from('}');
  const targetAt = head.length + named.length;
  const end = targetAt + target.length + rest.length;
  return {
    bytes: Buffer.concat([head, named, target, rest, Buffer.from('}')]),
    id: Buffer.from('1'),
    target: { start: targetAt, end: targetAt + target.length },
    params: { start: head.length, end },
    meta: undefined,
  };
};
