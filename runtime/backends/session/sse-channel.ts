import type { Clock } from '../../process/index.ts';
import { VmcpError } from '../../errors.ts';
import type { IdleTimeout, Fetch } from '../../outgoing/index.ts';
import { GONE, SseStream } from './sse-stream.ts';

export interface SseChannelDeps {
  readonly backend: string;
  /** URL of the stream. */
  readonly url: string;
  readonly clock: Clock;
  /** Called when the stream has ended, and the session with it. */
  readonly onLost: () => void;
}

/**
 * Makes a session of HTTP+SSE look like one of Streamable HTTP: requests are POSTed to the endpoint that the stream
 * names, and answered on the stream. Without a stream every request is refused as for an unknown session (404), and, as
 * it was not sent, may be sent again.
 */
export class SseChannel {
  readonly #deps: SseChannelDeps;
  #stream: SseStream | undefined;
  #isClosed = false;

  constructor(deps: SseChannelDeps) {
    this.#deps = deps;
  }

  /** Opens the stream, in place of the one before. */
  async open(fetch: Fetch, idleTimeout: IdleTimeout): Promise<void> {
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
    await stream.open(url, fetch, idleTimeout);
  }

  /** Wraps `fetch` so that responses come on the stream. */
  readonly over =
    (fetch: Fetch): Fetch =>
    (request) => {
      if (!this.#stream) return Promise.resolve(GONE);
      return request.method === 'GET' ? this.#stream.listen(request) : this.#stream.post(fetch, request);
    };

  /** Pauses the idle timeouts of all calls under way until the returned function is called. */
  readonly pause = (): (() => void) => this.#stream?.pause() ?? (() => {});

  /** Ends the stream; the next call opens another one. */
  drop(): void {
    const lost = `backend "${this.#deps.backend}" has lost the session`;
    this.#stream?.end(new VmcpError('backend_unavailable', lost, { isOutage: true }));
  }

  close(): void {
    this.#isClosed = true;
    this.#stream?.end(over());
  }
}

const over = (): VmcpError => new VmcpError('cancelled', 'the session is over');
