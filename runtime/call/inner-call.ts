import type { Call, Origin } from './call.ts';
import type { Answered } from './questions.ts';
import { VmcpError } from '../errors.ts';
import { isObject, JsonSyntaxError, skipValue, type Span } from '../json/index.ts';

/** A tool call that a workflow or the optimizer makes for the caller of `parent`. */
export interface InnerCall {
  /** Name of the tool in the name table of `origin`. */
  readonly name: string;
  /** JSON text of an object. */
  readonly args: Buffer;
  readonly origin: Exclude<Origin, 'client'>;
  /** JSON text of `params._meta` of a step's call; absent: it has none. */
  readonly meta?: Buffer;
}

/** Depth of nested inner calls, which stops a tool that calls itself. */
const MAX_DEPTH = 8;

/**
 * Makes inner calls. Throws `invalid_params` where they are nested too deeply, and for arguments that are not one JSON
 * object.
 */
export type NewInnerCall = (parent: Call, inner: InnerCall) => Call;

/**
 * A call of the same caller, over the same backend sessions and to the same client, cancelled with `parent`; to be
 * dispatched like any other call. `call_tool` is the client's own call in another form, and so keeps its id, `_meta`
 * and the answers to questions of a backend; a step of a workflow has none of them. `newId` makes ids that no client
 * can guess, as a client may have calls of its own under way in the same backend session.
 */
export const innerCalls =
  (newId: () => string): NewInnerCall =>
  (parent, { name, args, origin, meta }) => {
    const { caller, backendSessions, signal, client } = parent;
    const depth = parent.depth + 1;
    if (depth > MAX_DEPTH) throw new VmcpError('invalid_params', `tools call each other more than ${MAX_DEPTH} deep`);
    checkArguments(args);
    const isOwn = origin === 'optimizer';
    const id = isOwn ? parent.request.id : Buffer.from(JSON.stringify(`vmcp-${newId()}`));
    const answered = isOwn ? parent.answered : undefined;
    const request = requestOf({ id, name, args, meta: isOwn ? metaOf(parent) : meta, answered });
    return {
      caller,
      method: 'tools/call',
      name,
      names: 'tool',
      origin,
      parent,
      depth,
      request,
      backendSessions,
      signal,
      client,
      ...(answered && { answered }),
    };
  };

/** The arguments are written into a request, so they must be exactly one JSON object. */
const checkArguments = (args: Buffer): void => {
  if (!isOneObject(args)) throw new VmcpError('invalid_params', 'the arguments of a tool must be one JSON object');
};

const isOneObject = (text: Buffer): boolean => {
  try {
    return isObject(text, 0) && skipValue(text, 0) === text.length;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return false;
    throw error;
  }
};

const metaOf = ({ request: { bytes, meta } }: Call): Buffer | undefined => meta && bytes.subarray(meta.start, meta.end);

interface Parts {
  /** JSON text. */
  readonly id: Buffer;
  readonly name: string;
  readonly args: Buffer;
  readonly meta: Buffer | undefined;
  readonly answered: Answered | undefined;
}

/** The request as a client would have written it, with the spans that are read from a client's envelope. */
const requestOf = ({ id, name, args, meta, answered }: Parts): Call['request'] => {
  const text = new Text();
  text.add('{"jsonrpc":"2.0","id":');
  text.add(id);
  text.add(',"method":"tools/call","params":');
  const start = text.length;
  text.add('{"name":');
  const target = text.add(JSON.stringify(name));
  text.add(',"arguments":');
  text.add(args);
  if (meta) text.add(',"_meta":');
  const metaAt = meta && text.add(meta);
  if (answered?.answers) text.add(`,"inputResponses":${answered.answers.toString()}`);
  if (answered?.state !== undefined) text.add(`,"requestState":${JSON.stringify(answered.state)}`);
  text.add('}');
  const params = { start, end: text.length };
  text.add('}');
  return { bytes: text.bytes(), id, target, params, meta: metaAt };
};

/** Builds JSON text and returns the span of each piece. */
class Text {
  readonly #pieces: Buffer[] = [];
  length = 0;

  add(piece: string | Buffer): Span {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
    const start = this.length;
    this.#pieces.push(bytes);
    this.length += bytes.length;
    return { start, end: this.length };
  }

  bytes(): Buffer {
    return Buffer.concat(this.#pieces);
  }
}
