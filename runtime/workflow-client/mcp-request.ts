import { Agent, request } from 'undici';
import { EventReader } from '../backends/index.ts';
import { GrowableBuffer } from '../http/index.ts';
import { objectIn } from '../json/index.ts';
import { LIMITS } from '../limits.ts';
import { encodedHeader, MODERN_REVISION, RESERVED_PREFIX } from '../mcp/index.ts';

/** A server of 2026-07-28, and who asks it. */
export interface McpServer {
  /** Of the endpoint. */
  readonly url: string;
  /** Of the caller. */
  readonly token: string | undefined;
  /** Version of this program, which it tells the server. */
  readonly version: string;
}

export interface ToolRequest {
  readonly name: string;
  /** JSON text. */
  readonly args: string;
  /** Continues a call that was answered with `input_required`. */
  readonly continued?: { readonly requestState: string; readonly inputResponses: Readonly<Record<string, unknown>> };
}

/** A JSON-RPC message. */
type Message = Readonly<Record<string, unknown>>;

export interface RequestDeps {
  readonly signal: AbortSignal;
  /** Notifications before the answer. */
  readonly onMessage: (message: Message) => void;
}

export interface HttpAnswer {
  readonly status: number;
  /** The whole body, or the answer of an event stream; empty: there was none. */
  readonly body: Buffer;
}

/** A workflow may be silent for as long as one of its steps takes, and a server ends it after 30 minutes. */
const PATIENT = { headersTimeout: 0, bodyTimeout: 0, maxRedirections: 0 };

const ID = 1;

/** One `tools/call`, which asks for progress. Throws where there is no answer, or one that is too large. */
export const requestTool = async (
  { url, token, version }: McpServer,
  tool: ToolRequest,
  { signal, onMessage }: RequestDeps,
): Promise<HttpAnswer> => {
  const dispatcher = new Agent(PATIENT);
  try {
    const response = await request(url, {
      dispatcher,
      signal,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': MODERN_REVISION,
        'mcp-method': 'tools/call',
        'mcp-name': encodedHeader(tool.name),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      body: bodyOf(tool, version),
    });
    const isStream = String(response.headers['content-type']).startsWith('text/event-stream');
    const body = isStream ? await answerIn(response.body, onMessage) : await wholeBody(response.body);
    return { status: response.statusCode, body };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`no answer of a server at ${url}: ${reason}; check that it runs there`, { cause });
  } finally {
    await dispatcher.destroy();
  }
};

/** Arguments go as they were written: numbers keep their digits. */
const bodyOf = ({ name, args, continued }: ToolRequest, version: string): string => {
  const rest = JSON.stringify({
    name,
    ...continued,
    _meta: {
      [`${RESERVED_PREFIX}protocolVersion`]: MODERN_REVISION,
      [`${RESERVED_PREFIX}clientInfo`]: { name: 'vmcp', version },
      [`${RESERVED_PREFIX}clientCapabilities`]: { elicitation: {} },
      progressToken: ID,
    },
  });
  return `{"jsonrpc":"2.0","id":${ID},"method":"tools/call","params":${rest.slice(0, -1)},"arguments":${args}}}`;
};

const MOST_BYTES = LIMITS.backend.maxResponseBytes;

const wholeBody = async (body: AsyncIterable<Buffer>): Promise<Buffer> => {
  const whole = new GrowableBuffer();
  for await (const chunk of body) {
    if (whole.length + chunk.length > MOST_BYTES) throw new Error('the answer of the server is too large');
    whole.append(chunk);
  }
  return whole.take();
};

/** The answer of an event stream; what comes before it is told as it comes. */
const answerIn = async (body: AsyncIterable<Buffer>, onMessage: (message: Message) => void): Promise<Buffer> => {
  let answer = Buffer.alloc(0);
  const reader = new EventReader(MOST_BYTES, (bytes) => {
    const message = objectIn(bytes);
    if (message?.['method'] === undefined) answer = Buffer.from(bytes);
    else onMessage(message);
  });
  for await (const chunk of body) reader.push(chunk);
  return answer;
};
