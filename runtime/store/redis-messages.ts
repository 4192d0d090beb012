import type { RedisClient } from './redis-client.ts';
import type { RedisLink } from './redis-link.ts';
import type { Subscription } from './store.ts';

interface Channel {
  readonly listeners: Set<(message: Buffer) => void>;
  readonly isLive: Promise<void>;
  readonly setLive: () => void;
}

/** Who listens to what; tells each new connection, which knows nothing yet. */
export class RedisMessages {
  readonly #channels = new Map<string, Channel>();
  /** What the connection of the moment has been told. */
  #told = new Set<string>();

  /** Resolves when every channel is listened to, those added meanwhile too. */
  async prepare(client: RedisClient): Promise<void> {
    this.#told = new Set();
    client.on('messageBuffer', (channel: Buffer, message: Buffer) => this.#deliver(channel.toString(), message));
    for (;;) {
      const missing = [...this.#channels.keys()].filter((channel) => !this.#told.has(channel));
      if (missing.length === 0) return;
      for (const channel of missing) this.#told.add(channel);
      await client.subscribe(...missing);
      for (const channel of missing) this.#channels.get(channel)?.setLive();
    }
  }

  listen(link: RedisLink, name: string, listener: (message: Buffer) => void): Subscription {
    const channel = this.#channels.get(name) ?? this.#add(link, name);
    // One function may listen twice; each time is a subscription of its own.
    const own = (message: Buffer): void => listener(message);
    channel.listeners.add(own);
    return {
      isLive: channel.isLive,
      end: () => {
        if (channel.listeners.delete(own) && channel.listeners.size === 0) this.#remove(link, name);
      },
    };
  }

  clear(): void {
    this.#channels.clear();
  }

  #add(link: RedisLink, name: string): Channel {
    const { promise, resolve } = Promise.withResolvers<void>();
    const channel: Channel = { listeners: new Set(), isLive: promise, setLive: resolve };
    this.#channels.set(name, channel);
    if (link.isUp) {
      this.#told.add(name);
      void link.tell((client) => client.subscribe(name)).then((isTold) => isTold && channel.setLive());
    }
    return channel;
  }

  #remove(link: RedisLink, name: string): void {
    this.#channels.delete(name);
    this.#told.delete(name);
    if (link.isUp) void link.tell((client) => client.unsubscribe(name));
  }

  #deliver(name: string, message: Buffer): void {
    const { listeners } = this.#channels.get(name) ?? {};
    // One may end others, or begin to listen, while it is called.
    for (const listener of new Set(listeners)) if (listeners?.has(listener)) listener(message);
  }
}
