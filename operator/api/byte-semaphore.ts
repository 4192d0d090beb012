/** Limits how many bytes of bodies are read at once; further bodies wait in order, unread on their connections. */
export class ByteSemaphore {
  readonly #waiting = new Set<Waiter>();
  readonly #mostWaiting: number;
  #left: number;

  constructor(bytes: number, mostWaiting: number) {
    this.#left = bytes;
    this.#mostWaiting = mostWaiting;
  }

  /**
   * `entered` resolves once `bytes` are available, at most as many as the semaphore has. Undefined: too many wait
   * already. `leave` gives the bytes back, or ends the wait.
   */
  acquire(bytes: number): { readonly entered: Promise<void>; readonly leave: () => void } | undefined {
    if (this.#waiting.size >= this.#mostWaiting) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const guest: Waiter = { bytes, resolve };
    this.#waiting.add(guest);
    this.#letIn();
    return { entered: promise, leave: () => this.#leave(guest) };
  }

  #leave(guest: Waiter): void {
    const isStillWaiting = this.#waiting.delete(guest);
    if (!isStillWaiting) this.#left += guest.bytes;
    // A second `leave` has no effect.
    guest.bytes = 0;
    this.#letIn();
  }

  #letIn(): void {
    for (const guest of this.#waiting) {
      if (guest.bytes > this.#left) return;
      this.#waiting.delete(guest);
      this.#left -= guest.bytes;
      guest.resolve();
    }
  }
}

interface Waiter {
  bytes: number;
  readonly resolve: () => void;
}
