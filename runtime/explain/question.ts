import type { Access, Caller, RelayedRequest } from '../call/index.ts';
import {
  checkEncoding,
  isObject,
  isString,
  JsonSyntaxError,
  readObject,
  readString,
  skipSpace,
  skipValue,
} from '../json/index.ts';

/** What somebody asks about. */
export interface Question {
  readonly kind: Kind;
  /** As a client would name it: a tool, a prompt, or the URI of a resource. */
  readonly name: string;
  /** The caller's token. A secret. Undefined: a request without one. */
  readonly token: string | undefined;
  /** JSON text of an object, with every name and number as it was written. */
  readonly args: Buffer | undefined;
  /** What the caller may ask `find_tool` for. */
  readonly query?: string | undefined;
}

const KINDS = ['tool', 'prompt', 'resource'] as const;
type Kind = (typeof KINDS)[number];

/** The question cannot be read; `message` says why and repeats nothing of it. */
export class QuestionError extends Error {
  override readonly name = 'QuestionError';
}

/** Reads the body of `POST /explain`. Throws QuestionError. */
export const readQuestion = (body: Buffer): Question => {
  const members = membersOf(body);
  const textOf = (key: string): string | undefined => {
    const value = members.get(key);
    if (value === undefined) return undefined;
    const span = { start: 0, end: value.length };
    if (!isString(value, span)) throw new QuestionError(`"${key}" is not a text`);
    return readString(value, span);
  };
  const name = textOf('name');
  const kind = KINDS.find((each) => each === (textOf('kind') ?? 'tool'));
  const args = members.get('arguments');
  if (name === undefined) throw new QuestionError('"name" is missing: the tool, the prompt or the URI to explain');
  if (kind === undefined) throw new QuestionError(`"kind" is none of ${KINDS.join(', ')}`);
  if (args && !isObject(args, 0)) throw new QuestionError('"arguments" is not an object');
  if (args && kind === 'resource') throw new QuestionError('a resource has no "arguments"');
  const query = textOf('query');
  if (query !== undefined && kind !== 'tool') throw new QuestionError('only a tool is found by a "query"');
  return { kind, name, token: textOf('token'), args, ...(query !== undefined && { query }) };
};

const KEYS = new Set(['kind', 'name', 'token', 'arguments', 'query']);

const membersOf = (body: Buffer): ReadonlyMap<string, Buffer> => {
  const members = new Map<string, Buffer>();
  try {
    checkEncoding(body);
    const start = skipSpace(body, 0);
    if (!isObject(body, start)) throw new QuestionError('the question is not a JSON object');
    const end = readObject(body, start, (key, valueAt) => {
      const valueEnd = skipValue(body, valueAt);
      if (!KEYS.has(key)) throw new QuestionError(`only ${[...KEYS].join(', ')} can be asked with`);
      if (members.has(key)) throw new QuestionError(`"${key}" is there twice`);
      members.set(key, body.subarray(valueAt, valueEnd));
      return valueEnd;
    });
    if (skipSpace(body, end) !== body.length) throw new QuestionError('more than one JSON object');
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw new QuestionError('the question is not JSON');
    throw error;
  }
  return members;
};

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
