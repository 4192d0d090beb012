import { VmcpError } from '../errors.ts';
import { type CancelSignal, Cancellation } from '../process/index.ts';

/** Does work under a cancellation of its own, which is aborted with `signal`. Throws the reason of an aborted one. */
export const within = async <T>(signal: CancelSignal, work: (own: Cancellation) => Promise<T>): Promise<T> => {
  if (signal.aborted) throw signal.reason;
  const own = cancellable(signal);
  try {
    return await work(own);
  } finally {
    own.end();
  }
};

/** A cancellation that is aborted with another one, until `end` is called. */
export class Cancellable extends Cancellation {
  readonly #outer: CancelSignal;
  readonly #follow: () => void;

  constructor(outer: CancelSignal) {
    super();
    this.#outer = outer;
    this.#follow = () => this.abort(asError(outer.reason));
    outer.addEventListener('abort', this.#follow);
  }

  end(): void {
    this.#outer.removeEventListener('abort', this.#follow);
  }
}

export const cancellable = (signal: CancelSignal): Cancellable => new Cancellable(signal);

const asError = (reason: unknown): Error =>
  reason instanceof Error ? reason : new VmcpError('cancelled', 'the call is over');
