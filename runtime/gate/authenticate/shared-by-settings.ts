/** A value that is used together with all who have taken it for equal settings. */
export interface Taken<Made> {
  readonly value: Made;
  /** To be called once. The value is closed when nobody uses it any more. */
  readonly release: () => Promise<void>;
}

/**
 * Values that are made of settings. Equal settings share one value, so that what it has learnt outlives a change of the
 * configuration that leaves its settings as they are. Settings are plain JSON.
 */
export class SharedBySettings<Settings, Made> {
  readonly #make: (settings: Settings) => Made;
  readonly #close: (made: Made) => Promise<void>;
  readonly #known = new Map<string, { readonly value: Made; users: number }>();

  constructor(make: (settings: Settings) => Made, close: (made: Made) => Promise<void>) {
    this.#make = make;
    this.#close = close;
  }

  /** Throws what making the value throws. */
  take(settings: Settings): Taken<Made> {
    const key = JSON.stringify(settings);
    const shared = this.#known.get(key) ?? { value: this.#make(settings), users: 0 };
    this.#known.set(key, shared);
    shared.users += 1;
    const release = async (): Promise<void> => {
      shared.users -= 1;
      if (shared.users > 0) return;
      this.#known.delete(key);
      await this.#close(shared.value);
    };
    return { value: shared.value, release };
  }
}
