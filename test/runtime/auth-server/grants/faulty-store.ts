import { memoryStore } from '../../../../runtime/store/memory-store.ts';
import { type Store, type StoreState, storeUnavailable } from '../../../../runtime/store/store.ts';
import type { Clock } from '../../../../runtime/process/index.ts';

const CALLS = ['get', 'set', 'setIfAbsent', 'take', 'delete', 'touch', 'createMap', 'readMap', 'setField'] as const;
const MORE = ['setFieldIfAbsent', 'deleteField', 'publish'] as const;

/** A store whose calls are written down, and fail when a test says so. */
export interface FaultyStore extends Store {
  /** Names of the calls since the last time that this was asked. */
  readonly calls: () => readonly string[];
  /** The call after this many others fails: it is not executed, or it is, and its answer is lost. */
  readonly failAfter: (calls: number, how: 'not executed' | 'answer lost') => void;
  /** Resolves when the call after this many others waits; the function lets it go on. */
  readonly holdAfter: (calls: number) => Promise<() => void>;
  readonly goAway: () => void;
  readonly comeBack: () => void;
}

export const faultyStore = (clock: Clock, base: Store = memoryStore({ clock })): FaultyStore => {
  const called: string[] = [];
  let isAway = false;
  let fault: { left: number; readonly how: 'not executed' | 'answer lost' } | undefined;
  let hold: { left: number; readonly reached: PromiseWithResolvers<() => void> } | undefined;
  const listeners = new Set<(state: StoreState, reason: string) => void>();
  const run = async (name: string, call: () => Promise<unknown>): Promise<unknown> => {
    called.push(name);
    if (isAway) throw storeUnavailable('away');
    if (hold && (hold.left -= 1) < 0) {
      const goOn = Promise.withResolvers<void>();
      const { reached } = hold;
      hold = undefined;
      reached.resolve(goOn.resolve);
      await goOn.promise;
    }
    if (!fault || (fault.left -= 1) >= 0) return call();
    const { how } = fault;
    fault = undefined;
    if (how === 'answer lost') await call();
    throw storeUnavailable(how);
  };
  const watched = Object.fromEntries(
    [...CALLS, ...MORE].map((name) => {
      const call = base[name] as (...args: readonly unknown[]) => Promise<unknown>;
      return [name, (...args: readonly unknown[]) => run(name, () => call(...args))];
    }),
  ) as unknown as Pick<Store, (typeof CALLS | typeof MORE)[number]>;
  const tell = (state: StoreState): void => {
    isAway = state === 'down';
    for (const listener of listeners) listener(state, '');
  };
  return {
    ...base,
    ...watched,
    onState: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    calls: () => called.splice(0, called.length),
    failAfter: (calls, how) => {
      fault = { left: calls, how };
    },
    holdAfter: (calls) => {
      const reached = Promise.withResolvers<() => void>();
      hold = { left: calls, reached };
      return reached.promise;
    },
    goAway: () => tell('down'),
    comeBack: () => tell('up'),
  };
};
