import type { Clock } from '../clock.ts';
import type { Attention, BackendResponse } from '../outgoing/index.ts';
import { replacedMember, withMembers } from '../json-members.ts';
import { encodedHeader } from '../mcp-header-text.ts';
import { MODERN_REVISION } from '../revisions.ts';
import { wholeOf } from '../text-pieces.ts';
import type { BackendCall } from './backend-call.ts';
import { CallStream, nobody, type HeardBy } from './call-stream.ts';
import type { ListLink } from './catalogue.ts';
import { ALL_ASKABLE, type BackendCapabilities } from './handshake.ts';
import { askableMeta } from './request-edits.ts';
import { deadline, patiently } from './patience.ts';
import { answerIn } from './session-answer.ts';

export interface ModernLinkSettings {
  readonly backend: string;
  /** The backend's endpoint: path and query. */
  readonly path: string;
  readonly capabilities: BackendCapabilities;
}

/** A request of 2026-07-28: `bytes` are already stamped. */
export interface ModernCall extends BackendCall {
  readonly method: string;
  /** What it names, for the methods that have a `Mcp-Name`. */
  readonly name?: string;
  /** `Mcp-Param-*`: names and values in turn. */
  readonly paramHeaders?: readonly string[];
}

export const MODERN_HEADERS = [
  'content-type',
  'application/json',
  'accept',
  'application/json, text/event-stream',
  'mcp-protocol-version',
  MODERN_REVISION,
] as const;

/** The way to a backend of 2026-07-28: no session, each request speaks for itself. Never repeats one. */
export class ModernLink {
  readonly #settings: ModernLinkSettings;
  readonly #clock: Clock;

  constructor(settings: ModernLinkSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  get opened(): { readonly capabilities: BackendCapabilities } {
    return this.#settings;
  }

  /** The backend's response, as it wrote it. Whoever gives up closes the connection, which is how this revision cancels. */
  request(call: ModernCall): Promise<Buffer> {
    const { backend } = this.#settings;
    return patiently(this.#clock, {
      backend,
      silenceMs: call.silenceMs,
      signal: call.signal,
      work: async (attention) => answerIn(backend, await this.#post(call, attention), call.id),
    });
  }

  #post(call: ModernCall, attention: Attention): Promise<BackendResponse> {
    const { backend, path } = this.#settings;
    const { id, client = nobody, method, name, paramHeaders = [] } = call;
    const heard = call.isDeadline ? deadline(attention) : attention;
    let stream: CallStream | undefined;
    const streamOf = (): CallStream =>
      new CallStream({ backend, id, attention: heard, client: askingNobody(client), reply: () => Promise.resolve() });
    const onMessage = (message: Buffer) => (stream ??= streamOf()).hear(message);
    const backlog = () => stream?.backlog();
    const headers = [...MODERN_HEADERS, 'mcp-method', method, ...paramHeaders];
    if (name !== undefined) headers.push('mcp-name', encodedHeader(name));
    const { bytes: body, fetch } = call;
    return fetch({ method: 'POST', path, headers, body, attention: heard, onMessage, backlog });
  }
}

/** This revision has no requests to clients, and so no answers to them. */
const askingNobody = (client: HeardBy): HeardBy => ({
  ...nobody,
  era: client.era,
  logLevel: client.logLevel,
  notify: (notification) => client.notify(notification),
  backlog: () => client.backlog(),
});

/**
 * The way for the gateway's own requests, whose params are an object. Servers list some tools only for clients that can be asked.
 * `clientInfo` is JSON text.
 */
export const modernListLink = (link: ModernLink, clientInfo: string): ListLink => {
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
