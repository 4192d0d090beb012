import type { Clock } from '../../process/index.ts';
import type { IdleTimeout, BackendResponse } from '../../outgoing/index.ts';
import { replacedMember, withMembers, wholeOf } from '../../json/index.ts';
import { encodedHeader, MODERN_REVISION } from '../../mcp/index.ts';
import type { BackendCall, ListSource, BackendCapabilities } from '../messages/backend-call.ts';
import { CallStream, noClient, type CallStreamClient } from '../messages/call-stream.ts';
import { ALL_ASKABLE } from '../session/handshake.ts';
import { askableMeta } from '../messages/request-edits.ts';
import { deadline, withIdleTimeout } from '../messages/idle-timeout.ts';
import { answerIn } from '../session/answer.ts';

export interface StatelessClientSettings {
  readonly backend: string;
  /** The backend's endpoint: path and query. */
  readonly path: string;
  readonly capabilities: BackendCapabilities;
}

/** A request of 2026-07-28; `bytes` carry the reserved members of `_meta` already. */
export interface ModernCall extends BackendCall {
  readonly method: string;
  /** The tool, prompt or URI, for the methods that have a `Mcp-Name`. */
  readonly name?: string;
  /** `Mcp-Param-*`: names and values in turn. */
  readonly paramHeaders?: readonly string[];
}

/** Headers of every POST: names and values in turn. */
export const MODERN_HEADERS = [
  'content-type',
  'application/json',
  'accept',
  'application/json, text/event-stream',
  'mcp-protocol-version',
  MODERN_REVISION,
] as const;

/**
 * The client of a backend of 2026-07-28: there is no session, each request is self-contained. Never repeats a request.
 */
export class StatelessClient {
  readonly #settings: StatelessClientSettings;
  readonly #clock: Clock;

  constructor(settings: StatelessClientSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  get opened(): { readonly capabilities: BackendCapabilities } {
    return this.#settings;
  }

  /**
   * The backend's response, as it wrote it. To cancel, the gateway closes the connection, as this revision requires.
   */
  request(call: ModernCall): Promise<Buffer> {
    const { backend } = this.#settings;
    return withIdleTimeout(this.#clock, {
      backend,
      idleTimeoutMs: call.idleTimeoutMs,
      signal: call.signal,
      work: async (idleTimeout) => answerIn(backend, await this.#post(call, idleTimeout), call.id),
    });
  }

  #post(call: ModernCall, idleTimeout: IdleTimeout): Promise<BackendResponse> {
    const { backend, path } = this.#settings;
    const { id, client = noClient, method, name, paramHeaders = [] } = call;
    const heard = call.isDeadline ? deadline(idleTimeout) : idleTimeout;
    let stream: CallStream | undefined;
    const streamOf = (): CallStream =>
      new CallStream({
        backend,
        id,
        idleTimeout: heard,
        client: withoutRequests(client),
        reply: () => Promise.resolve(),
      });
    const onMessage = (message: Buffer) => (stream ??= streamOf()).receive(message);
    const backlog = () => stream?.backlog();
    const headers = [...MODERN_HEADERS, 'mcp-method', method, ...paramHeaders];
    if (name !== undefined) headers.push('mcp-name', encodedHeader(name));
    const { bytes: body, fetch } = call;
    return fetch({ method: 'POST', path, headers, body, idleTimeout: heard, onMessage, backlog });
  }
}

/** This revision has no requests to clients, and so no answers to them. */
const withoutRequests = (client: CallStreamClient): CallStreamClient => ({
  ...noClient,
  era: client.era,
  logLevel: client.logLevel,
  notify: (notification) => client.notify(notification),
  backlog: () => client.backlog(),
});

/**
 * Sends the gateway's own requests, whose params are an object. They declare all client capabilities, since servers
 * list some tools only then. `clientInfo` is JSON text.
 */
export const statelessListSource = (link: StatelessClient, clientInfo: string): ListSource => {
  const meta = `"_meta":${askableMeta(clientInfo, ALL_ASKABLE)}`;
  return {
    opened: link.opened,
    request: (call) =>
      link.request({
        ...call,
        bytes: replacedMember(wholeOf(call.bytes), 'params', (params) => withMembers(params, [meta])),
      }),
  };
};
