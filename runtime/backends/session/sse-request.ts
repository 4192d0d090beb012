import type { Clock } from '../../process/index.ts';
import type { IdleTimeout, AwaitedAnswer, BackendRequest, BackendResponse, Fetch } from '../../outgoing/index.ts';
import { wholeOf } from '../../json/index.ts';
import { type AwaitingRequest, progressTokenIn } from './sse-routing.ts';

/** A server may answer on the stream before it has answered the POST; after this it is cut. */
const LEFT_OPEN_MS = 5_000;

/** A POST of HTTP+SSE whose answer comes on the stream. */
export class SseRequest implements AwaitingRequest {
  readonly id: Buffer;
  readonly isCall: boolean;
  readonly #request: BackendRequest;
  readonly #answer = Promise.withResolvers<BackendResponse>();
  #token: { readonly text: Buffer | undefined } | undefined;
  #isPosted = false;
  #abort: ((reason: Error) => void) | undefined;

  constructor(request: BackendRequest, { id, isCall }: AwaitedAnswer) {
    this.#request = request;
    this.id = id;
    this.isCall = isCall;
  }

  readonly progressToken = (): Buffer | undefined => {
    this.#token ??= { text: this.#readToken() };
    return this.#token.text;
  };

  /** A copy, since the token may be a part of the whole request, which must not stay in memory. */
  #readToken(): Buffer | undefined {
    const { body } = this.#request;
    const token = body && progressTokenIn(wholeOf(body));
    return token && Buffer.from(token);
  }

  readonly pause = (): (() => void) => this.#request.idleTimeout.pause();

  /** Resolves with the answer, or with the response to the POST when that refuses it. */
  async send(fetch: Fetch, path: string, clock: Clock): Promise<BackendResponse> {
    void this.#post(fetch, path);
    try {
      return await this.#answer.promise;
    } finally {
      if (!this.#isPosted) clock.after(LEFT_OPEN_MS, () => this.#abort?.(new Error('request left open')));
    }
  }

  answered(body: Buffer): void {
    this.#answer.resolve({ status: 200, headers: {}, body });
  }

  /** A message that is not the answer. */
  receive(message: Buffer): void {
    try {
      if (this.#request.onMessage(message) === 'answer') this.answered(message);
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error: unknown): void {
    this.#answer.reject(error);
  }

  async #post(fetch: Fetch, path: string): Promise<void> {
    const { idleTimeout } = this.#request;
    const posting: IdleTimeout = {
      // That the POST was accepted does not prove that the backend is working.
      refresh: () => {},
      pause: () => idleTimeout.pause(),
      onAbandoned: (abort, state) => {
        this.#abort = abort;
        idleTimeout.onAbandoned((reason) => {
          this.fail(reason);
          abort(reason);
        }, state);
      },
    };
    try {
      const response = await fetch({ ...this.#request, path, idleTimeout: posting, onMessage: () => 'other' });
      if (response.status >= 300) this.#answer.resolve(response);
    } catch (error) {
      this.fail(error);
    } finally {
      this.#isPosted = true;
      this.#abort = undefined;
    }
  }
}
