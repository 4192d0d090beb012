import type { Clock } from '../process/index.ts';
import { quotaExceeded, type QuotaGroup } from './store.ts';

/** When each key expires, as last noted for the group. */
interface GroupMembers {
  /** Keys that were never renewed. */
  readonly fresh: Map<string, number>;
  readonly used: Map<string, number>;
}

/** Counts maps by quota group. */
export class QuotaGroups {
  readonly #groups = new Map<string, GroupMembers>();
  readonly #now: Clock['now'];

  constructor({ now }: Pick<Clock, 'now'>) {
    this.#now = now;
  }

  /** The key that is displaced when this one enters. Throws `overloaded` when the quota group is full. */
  displacedBy(key: string, { name, limit }: QuotaGroup): string | undefined {
    const group = this.#groupOf(name);
    // The place of an earlier map of this name is freed first.
    remove(key, group);
    if (sizeOf(group) >= limit) this.#forgetEnded(group);
    return sizeOf(group) < limit ? undefined : firstToEnd(group);
  }

  enter(key: string, { name, displacesNone }: QuotaGroup, ttlMs: number): void {
    const { fresh, used } = this.#groupOf(name);
    (displacesNone ? used : fresh).set(key, this.#now() + ttlMs);
  }

  use(key: string, { name }: QuotaGroup, ttlMs: number): void {
    const group = this.#groupOf(name);
    remove(key, group);
    group.used.set(key, this.#now() + ttlMs);
  }

  leave(key: string, { name }: QuotaGroup): void {
    const group = this.#groups.get(name);
    if (group) remove(key, group);
  }

  endExpired(): void {
    for (const [name, group] of this.#groups) {
      this.#forgetEnded(group);
      if (sizeOf(group) === 0) this.#groups.delete(name);
    }
  }

  clear(): void {
    this.#groups.clear();
  }

  #groupOf(name: string): GroupMembers {
    const group = this.#groups.get(name) ?? { fresh: new Map(), used: new Map() };
    this.#groups.set(name, group);
    return group;
  }

  #forgetEnded({ fresh, used }: GroupMembers): void {
    for (const keys of [fresh, used]) for (const [key, endsAt] of keys) if (endsAt <= this.#now()) keys.delete(key);
  }
}

const remove = (key: string, { fresh, used }: GroupMembers): void => {
  fresh.delete(key);
  used.delete(key);
};

const sizeOf = ({ fresh, used }: GroupMembers): number => fresh.size + used.size;

const firstToEnd = ({ fresh }: GroupMembers): string => {
  let first: readonly [key: string, endsAt: number] | undefined;
  for (const each of fresh) if (!first || each[1] < first[1]) first = each;
  if (!first) throw quotaExceeded();
  return first[0];
};
