import type { Store } from './store.ts';

/** Messages within this process. */
export const localMessages = (): Pick<Store, 'publish' | 'subscribe'> & { readonly endAll: () => void } => {
  const channels = new Map<string, Set<Listener>>();
  return {
    publish: async (channel, message) => {
      const sent = Buffer.from(message);
      for (const listener of channels.get(channel) ?? []) {
        // Not within the call of the sender, as with any other store. A listener that has been ended by then hears nothing.
        queueMicrotask(() => channels.get(channel)?.has(listener) && listener(sent));
      }
    },
    subscribe: (channel, listener) => {
      // One function may listen twice; each time is a subscription of its own.
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
