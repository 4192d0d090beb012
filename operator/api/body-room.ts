/** How many bytes of bodies are read at once: who comes later waits, in order, and its body stays on the wire. */
export class BodyRoom {
  readonly #waiting = new Set<Guest>();
  readonly #mostWaiting: number;
  #left: number;

  constructor(bytes: number, mostWaiting: number) {
    this.#left = bytes;
    this.#mostWaiting = mostWaiting;
  }

  /**
   * `entered` is settled once there is room for so many bytes, at most as many as there are at all. Undefined: too many
   * wait already.
   */
  enter(bytes: number): { readonly entered: Promise<void>; readonly leave: () => void } | undefined {
    if (this.#waiting.size >= this.#mostWaiting) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const guest: Guest = { bytes, resolve };
    this.#waiting.add(guest);
    this.#letIn();
    return { entered: promise, leave: () => this.#leave(guest) };
  }

  #leave(guest: Guest): void {
    const isStillWaiting = this.#waiting.delete(guest);
    if (!isStillWaiting) this.#left += guest.bytes;
    // Nobody holds room twice back.
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

interface Guest {
  bytes: number;
  readonly resolve: () => void;
}
