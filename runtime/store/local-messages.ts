import type { Store } from './store.ts';

/** Messages within this process. */
export const localMessages = (): Pick<Store, 'publish' | 'subscribe'> & { readonly endAll: () => void } => {
  const channels = new Map<string, Set<Listener>>();
  return {
    publish: async (channel, message) => {
      const sent = Buffer.from(message);
      for (const listener of channels.get(channel) ?? []) {
        // Delivered after the sender's call, as with any other store, and not to listeners that were removed meanwhile.
        queueMicrotask(() => channels.get(channel)?.has(listener) && listener(sent));
      }
    },
    subscribe: (channel, listener) => {
      // One function may subscribe twice; each time is a subscription of its own.
      const own: Listener = (message) => listener(message);
      channels.set(channel, (channels.get(channel) ?? new Set()).add(own));
      const end = (): void => {
        const listeners = channels.get(channel);
        if (listeners?.delete(own) && listeners.size === 0) channels.delete(channel);
      };
      return { isLive: Promise.resolve(), end };
    },
    endAll: () => channels.clear(),
  };
};

type Listener = (message: Buffer) => void;
