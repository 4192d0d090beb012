import { type Envelope, readEnvelope } from '../../runtime/edge/index.ts';
import { type Span, splice, memberAt, replacedMember, smallMember } from '../../runtime/json/index.ts';

/** JSON-RPC messages as text: everything that is not ours to change stays as its sender wrote it. */

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;

/** The request as the server gets it: under our id, its progress under the same number, and on one line. */
export const upstreamRequest = ({ body, meta }: Envelope, id: number): Buffer => {
  const number = Buffer.from(String(id));
  const token = meta && memberAt(body, meta.start, 'progressToken');
  const renamed = token ? splice(body, token, number) : body;
  return onOneLine(replacedMember(renamed, 'id', () => number));
};

/** MCP "stdio": messages must not contain newlines. In JSON they are white space only. */
const onOneLine = (message: Buffer): Buffer => {
  if (!message.includes(LF) && !message.includes(CR)) return message;
  return Buffer.from(message.map((byte) => (byte === LF || byte === CR ? SPACE : byte)));
};

/** JSON text of the progress token that a client gave its request. */
export const progressTokenOf = ({ body, meta }: Envelope): Buffer | undefined => {
  const span = meta && memberAt(body, meta.start, 'progressToken');
  return span && copyOf(body, span);
};

/** What `params` holds under `name`, when that is small. */
export const paramOf = ({ body, params }: Envelope, name: string): unknown =>
  params && smallMember(body, params.start, name);

/** The message with another value (JSON text) of a member of `params`; as it is where it has no such member. */
export const withParam = ({ body, params }: Envelope, name: string, value: Buffer): Buffer => {
  const span = params && memberAt(body, params.start, name);
  return span ? splice(body, span, value) : body;
};

/** The message under another id (JSON text). */
export const withId = (message: Buffer, id: Buffer): Buffer => replacedMember(message, 'id', () => id);

/** JSON text of `params`, a view of the message; undefined without them. */
export const paramsText = ({ body, params }: Envelope): Buffer | undefined =>
  params && body.subarray(params.start, params.end);

/** A part of a message that outlives it: a view would keep the whole message in memory. */
export const copyOf = (bytes: Buffer, { start, end }: Span): Buffer => Buffer.from(bytes.subarray(start, end));

/** A request of the bridge itself, with id 0 until `ServerProcess` gives it one. */
export const requestOf = (method: string, params: object = {}): Envelope =>
  readEnvelope(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, method, params })));

/** JSON text of a notification. */
export const notificationOf = (method: string, params?: object): Buffer =>
  Buffer.from(JSON.stringify({ jsonrpc: '2.0', method, ...(params && { params }) }));

/** JSON text of a response; `id` and `result` are JSON text. */
export const resultOf = (id: Buffer, result: Buffer): Buffer =>
  Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":'), id, Buffer.from(',"result":'), result, closing]);

/** `error` is JSON text. */
export const errorOf = (id: Buffer, error: Buffer): Buffer =>
  Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":'), id, Buffer.from(',"error":'), error, closing]);

const closing = Buffer.from('}');
