import { orAborted } from '../aborted.ts';

/**
 * Work of which each namespace has one piece under way; more of it waits, in the order it came, and leaves when its
 * signal is aborted.
 */
export class OneAtATime {
  /** By namespace: resolved when everything that came so far has ended. */
  readonly #ended = new Map<string, Promise<void>>();

  async run<T>(namespace: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#ended.get(namespace);
    const own = Promise.withResolvers<void>();
    // One that gives up while it waits does not let the next one pass.
    const ended = Promise.all([before, own.promise]).then(() => {
      if (this.#ended.get(namespace) === ended) this.#ended.delete(namespace);
    });
    this.#ended.set(namespace, ended);
    try {
      await orAborted(before, signal);
      return await work();
    } finally {
      own.resolve();
    }
  }
}
