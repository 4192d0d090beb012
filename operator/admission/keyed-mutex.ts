import { abortable } from '../aborted.ts';

/** A mutex for each namespace: work waits in the order it came, and leaves the queue when its signal is aborted. */
export class KeyedMutex {
  /** By namespace: resolves when all earlier work has ended. */
  readonly #ended = new Map<string, Promise<void>>();

  async run<T>(namespace: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#ended.get(namespace);
    const own = Promise.withResolvers<void>();
    // Work that is aborted while it waits does not let later work pass earlier work.
    const ended = Promise.all([before, own.promise]).then(() => {
      if (this.#ended.get(namespace) === ended) this.#ended.delete(namespace);
    });
    this.#ended.set(namespace, ended);
    try {
      await abortable(before, signal);
      return await work();
    } finally {
      own.resolve();
    }
  }
}
