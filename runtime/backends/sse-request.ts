import type { Clock } from '../clock.ts';
import type { Attention, AwaitedAnswer, BackendRequest, BackendResponse, Fetch } from '../outgoing/index.ts';
import { wholeOf } from '../text-pieces.ts';
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

  /** A copy: what the token lies in may be a copy of the whole request, which must not stay. */
  #readToken(): Buffer | undefined {
    const { body } = this.#request;
    const token = body && progressTokenIn(wholeOf(body));
    return token && Buffer.from(token);
  }

  readonly pause = (): (() => void) => this.#request.attention.pause();

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
  told(message: Buffer): void {
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
    const { attention } = this.#request;
    const posting: Attention = {
      // That it was taken is no sign of work.
      heard: () => {},
      pause: () => attention.pause(),
      onAbandoned: (abort) => {
        this.#abort = abort;
        attention.onAbandoned((reason) => {
          this.fail(reason);
          abort(reason);
        });
      },
    };
    try {
      const response = await fetch({ ...this.#request, path, attention: posting, onMessage: () => 'other' });
      if (response.status >= 300) this.#answer.resolve(response);
    } catch (error) {
      this.fail(error);
    } finally {
      this.#isPosted = true;
      this.#abort = undefined;
    }
  }
}
