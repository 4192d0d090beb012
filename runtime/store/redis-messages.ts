import type { RedisClient } from './redis-client.ts';
import type { RedisLink } from './redis-link.ts';
import type { Subscription } from './store.ts';

interface Channel {
  readonly listeners: Set<(message: Buffer) => void>;
  readonly isLive: Promise<void>;
  readonly setLive: () => void;
}

/** The subscriptions of this process; subscribes each new connection to all of their channels. */
export class RedisMessages {
  readonly #channels = new Map<string, Channel>();
  /** Channels that the current connection is subscribed to. */
  #subscribed = new Set<string>();

  /** Resolves when the connection is subscribed to every channel, including those added meanwhile. */
  async prepare(client: RedisClient): Promise<void> {
    this.#subscribed = new Set();
    client.on('messageBuffer', (channel: Buffer, message: Buffer) => this.#deliver(channel.toString(), message));
    for (;;) {
      const missing = [...this.#channels.keys()].filter((channel) => !this.#subscribed.has(channel));
      if (missing.length === 0) return;
      for (const channel of missing) this.#subscribed.add(channel);
      await client.subscribe(...missing);
      for (const channel of missing) this.#channels.get(channel)?.setLive();
    }
  }

  listen(link: RedisLink, name: string, listener: (message: Buffer) => void): Subscription {
    const channel = this.#channels.get(name) ?? this.#add(link, name);
    // One function may subscribe twice; each time is a subscription of its own.
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
      this.#subscribed.add(name);
      void link.runOrDrop((client) => client.subscribe(name)).then((isTold) => isTold && channel.setLive());
    }
    return channel;
  }

  #remove(link: RedisLink, name: string): void {
    this.#channels.delete(name);
    this.#subscribed.delete(name);
    if (link.isUp) void link.runOrDrop((client) => client.unsubscribe(name));
  }

  #deliver(name: string, message: Buffer): void {
    const { listeners } = this.#channels.get(name) ?? {};
    // A listener may end other subscriptions, or add some, while it is called.
    for (const listener of new Set(listeners)) if (listeners?.has(listener)) listener(message);
  }
}
