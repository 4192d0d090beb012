import type { Clock } from '../clock.ts';
import { VmcpError } from '../errors.ts';
import type { Attention, Fetch } from '../outgoing/index.ts';
import { GONE, SseStream } from './sse-stream.ts';

export interface SseChannelDeps {
  readonly backend: string;
  /** Where the stream is opened. */
  readonly url: string;
  readonly clock: Clock;
  /** The stream has ended, and the session with it. */
  readonly onLost: () => void;
}

/**
 * What makes a session of HTTP+SSE look like one of Streamable HTTP: its requests are POSTed to where the stream says, and answered on
 * the stream. Without a stream every request is refused as for an unknown session (404), which was not sent and may be sent again.
 */
export class SseChannel {
  readonly #deps: SseChannelDeps;
  #stream: SseStream | undefined;
  #isClosed = false;

  constructor(deps: SseChannelDeps) {
    this.#deps = deps;
  }

  /** Opens the stream, in place of the one before. */
  async open(fetch: Fetch, attention: Attention): Promise<void> {
    const { backend, clock, url, onLost } = this.#deps;
    this.drop();
    if (this.#isClosed) throw over();
    const stream = new SseStream({
      backend,
      clock,
      onEnded: () => {
        if (this.#stream !== stream) return;
        this.#stream = undefined;
        onLost();
      },
    });
    this.#stream = stream;
    await stream.open(url, fetch, attention);
  }

  /** What speaks over the stream for whom `fetch` speaks for. */
  readonly over =
    (fetch: Fetch): Fetch =>
    (request) => {
      if (!this.#stream) return Promise.resolve(GONE);
      return request.method === 'GET' ? this.#stream.listen(request) : this.#stream.post(fetch, request);
    };

  /** Stops the clocks of all calls under way, until the returned function is called. */
  readonly pause = (): (() => void) => this.#stream?.pause() ?? (() => {});

  /** The stream is of no use any more. */
  drop(): void {
    this.#stream?.end(new VmcpError('backend_unavailable', `backend "${this.#deps.backend}" has lost the session`));
  }

  close(): void {
    this.#isClosed = true;
    this.#stream?.end(over());
  }
}

const over = (): VmcpError => new VmcpError('cancelled', 'the session is over');
