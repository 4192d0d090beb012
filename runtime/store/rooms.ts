import type { Clock } from '../clock.ts';
import { noRoom, type Room } from './store.ts';

/** When the life of each key ends, as the room was told last. */
interface Counted {
  /** Their life was never begun anew. */
  readonly fresh: Map<string, number>;
  readonly used: Map<string, number>;
}

/** Which maps are counted together. */
export class Rooms {
  readonly #rooms = new Map<string, Counted>();
  readonly #now: Clock['now'];

  constructor({ now }: Pick<Clock, 'now'>) {
    this.#now = now;
  }

  /** The key that has to go when this one enters. Throws `overloaded` when the room is full. */
  displacedBy(key: string, { name, limit }: Room): string | undefined {
    const room = this.#roomOf(name);
    // A place that an earlier map of this name has left is no other's.
    remove(key, room);
    if (sizeOf(room) >= limit) this.#forgetEnded(room);
    return sizeOf(room) < limit ? undefined : firstToEnd(room);
  }

  enter(key: string, { name }: Room, ttlMs: number): void {
    this.#roomOf(name).fresh.set(key, this.#now() + ttlMs);
  }

  use(key: string, { name }: Room, ttlMs: number): void {
    const room = this.#roomOf(name);
    remove(key, room);
    room.used.set(key, this.#now() + ttlMs);
  }

  leave(key: string, { name }: Room): void {
    const room = this.#rooms.get(name);
    if (room) remove(key, room);
  }

  endExpired(): void {
    for (const [name, room] of this.#rooms) {
      this.#forgetEnded(room);
      if (sizeOf(room) === 0) this.#rooms.delete(name);
    }
  }

  clear(): void {
    this.#rooms.clear();
  }

  #roomOf(name: string): Counted {
    const room = this.#rooms.get(name) ?? { fresh: new Map(), used: new Map() };
    this.#rooms.set(name, room);
    return room;
  }

  #forgetEnded({ fresh, used }: Counted): void {
    for (const keys of [fresh, used]) for (const [key, endsAt] of keys) if (endsAt <= this.#now()) keys.delete(key);
  }
}

const remove = (key: string, { fresh, used }: Counted): void => {
  fresh.delete(key);
  used.delete(key);
};

const sizeOf = ({ fresh, used }: Counted): number => fresh.size + used.size;

const firstToEnd = ({ fresh }: Counted): string => {
  let first: readonly [key: string, endsAt: number] | undefined;
  for (const each of fresh) if (!first || each[1] < first[1]) first = each;
  if (!first) throw noRoom();
  return first[0];
};
