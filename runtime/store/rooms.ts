import { noRoom, type Room } from './store.ts';

/** Keys in the order they came. */
interface Counted {
  /** Their life was never begun anew. */
  readonly fresh: Set<string>;
  readonly used: Set<string>;
}

/** Which entries are counted together. */
export class Rooms {
  readonly #rooms = new Map<string, Counted>();
  readonly #isThere: (key: string) => boolean;

  constructor(isThere: (key: string) => boolean) {
    this.#isThere = isThere;
  }

  /** The key that has to go for it. Throws `overloaded` when the room is full. */
  enter(key: string, { name, limit }: Room): string | undefined {
    const room = this.#rooms.get(name) ?? { fresh: new Set(), used: new Set() };
    this.#rooms.set(name, room);
    if (sizeOf(room) >= limit) this.#forgetEnded(room);
    const displaced = sizeOf(room) < limit ? undefined : oldestOf(room);
    if (displaced !== undefined) room.fresh.delete(displaced);
    room.fresh.add(key);
    return displaced;
  }

  use(key: string, { name }: Room): void {
    const room = this.#rooms.get(name);
    room?.fresh.delete(key);
    room?.used.add(key);
  }

  leave(key: string, { name }: Room): void {
    const room = this.#rooms.get(name);
    room?.fresh.delete(key);
    room?.used.delete(key);
  }

  #forgetEnded({ fresh, used }: Counted): void {
    for (const keys of [fresh, used]) for (const key of keys) if (!this.#isThere(key)) keys.delete(key);
  }
}

const sizeOf = ({ fresh, used }: Counted): number => fresh.size + used.size;

const oldestOf = ({ fresh }: Counted): string => {
  const [oldest] = fresh;
  if (oldest === undefined) throw noRoom();
  return oldest;
};
