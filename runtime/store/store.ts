import { VmcpError } from '../errors.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/** What one call may carry; beyond it is a fault of ours, not of the store. */
export const STORE_LIMITS = Object.freeze({
  /** Of a key, a channel or the name of a room, with the prefix of a view (`prefixed`) and without that of the store itself. */
  keyBytes: 512,
  fieldBytes: 512,
  valueBytes: MIB,
  messageBytes: 8 * MIB + 64 * KIB,
  /** Of one map, which has one at least. */
  fields: 4_096,
  /** At least 1. */
  ttlMs: 366 * 24 * 3_600_000,
});

/**
 * What replicas share: values and maps that end by themselves, and messages. Keys, fields and channels are texts of ours; who puts a
 * secret into one hashes it first. A value may be empty. A key holds a value or a map: a call for one of them finds nothing where the
 * other is, and leaves it alone. Calls that do not wait for each other are carried out in any order, and a buffer that was given must
 * stay as it is until the call has settled.
 *
 * Every call settles within the deadline of the store and throws VmcpError: `store_unavailable` when the store is away (the call may
 * have been carried out), refuses, or was closed; `overloaded` when a map, a room or the memory of the process is full; `internal` when
 * the call is out of `STORE_LIMITS`, and then the store never sees it.
 */
export interface Store extends StoreMessages {
  readonly get: (key: string) => Promise<Buffer | undefined>;
  /** In place of whatever the key held, a map too. */
  readonly set: (key: string, value: Buffer, ttlMs: number) => Promise<void>;
  /** False: there is a value or a map already, and it stays. */
  readonly setIfAbsent: (key: string, value: Buffer, ttlMs: number) => Promise<boolean>;
  /** Reads and deletes in one step: of many that take at once, one gets the value. */
  readonly take: (key: string) => Promise<Buffer | undefined>;
  /** A value or a map. False: there was none. */
  readonly delete: (key: string, room?: Room) => Promise<boolean>;
  /** Begins the life of a value or a map anew. False: it is gone. */
  readonly touch: (key: string, ttlMs: number, room?: Room) => Promise<boolean>;
  /** A map with these fields. False: there is a value or a map already, and it stays. Throws `overloaded` when the room is full. */
  readonly createMap: (key: string, fields: Fields, ttlMs: number, room?: Room) => Promise<boolean>;
  /** All fields, in no order; with `ttlMs` its life begins anew. Undefined: it is gone. */
  readonly readMap: (key: string, ttlMs?: number, room?: Room) => Promise<Fields | undefined>;
  /** False: the map is gone, and is not made anew. Throws `overloaded` when a new field would make it more than `maxFields`. */
  readonly setField: (key: string, field: string, value: Buffer, maxFields?: number) => Promise<boolean>;
  /** What the field holds afterwards: of many that set at once, the first wins. Undefined: the map is gone. */
  readonly setFieldIfAbsent: (key: string, field: string, value: Buffer) => Promise<Buffer | undefined>;
  /** With `only`, not when the field holds something else by now. A map whose last field goes is gone. False: nothing was deleted. */
  readonly deleteField: (key: string, field: string, only?: Buffer) => Promise<boolean>;
  /**
   * Takes one token from every bucket (0), or from none, and then gives the milliseconds until all of them have one. In a cluster their
   * keys have one hash tag. A key that holds something else is a full bucket, and becomes one.
   */
  readonly takeTokens: (buckets: readonly Bucket[]) => Promise<number>;
}

export type Fields = ReadonlyMap<string, Buffer>;

/** Tokens that come back evenly. A bucket that is not known is full, and none is known longer than 2 × `refillPeriodMs` after its last token was taken. */
export interface Bucket {
  readonly key: string;
  /** Whole, at least 1. */
  readonly capacity: number;
  /** From empty to full, at least 1. */
  readonly refillPeriodMs: number;
}

/**
 * Maps that are counted together, whichever replica makes them. Each call that makes, renews or deletes such a map names its room: a map
 * has its place until the life that the room was told of last ends, or until it is deleted. One more than `limit` displaces, of those whose
 * life was never begun anew, the one that ends first; where there is none, the room is full.
 */
export interface Room {
  /** In a cluster its hash tag (`{…}`) must be that of its maps. Keys that begin with it and a colon are the store's own. */
  readonly name: string;
  readonly limit: number;
}

/** Messages to those who listen at that moment, the sender too; the store does not keep them. Those of one sender on one channel arrive in order. */
interface StoreMessages {
  /** `patiently`: it may take as long as the connection lasts, which is no sign that the store is away. */
  readonly publish: (channel: string, message: Buffer, how?: 'patiently') => Promise<void>;
  /** Listens, through every outage, until it is ended. The listener must not throw, nor change the message, which others get too. */
  readonly subscribe: (channel: string, listener: (message: Buffer) => void) => Subscription;
  /** Whether calls have a chance; messages are lost while it is `down`. */
  readonly state: () => StoreState;
  /** Returns how to stop hearing of changes. `reason` is empty when it is up, and holds no secret. */
  readonly onState: (listener: (state: StoreState, reason: string) => void) => () => void;
  /** Resolves once the store has answered for the first time (decisions "Management port": `/readyz`). */
  readonly firstAnswer: Promise<void>;
  /** Ends all subscriptions. */
  readonly close: () => Promise<void>;
}

export interface Subscription {
  /** Resolves when messages have begun to arrive. */
  readonly isLive: Promise<void>;
  readonly end: () => void;
}

/** `refusing`: it is there, and answers commands with errors; some may succeed. */
export type StoreState = 'up' | 'refusing' | 'down';

/** `detail` is for the log and holds no secret. */
export const storeUnavailable = (detail: string): VmcpError =>
  new VmcpError('store_unavailable', 'the session store does not answer; try again', { detail });

export const noRoom = (): VmcpError => new VmcpError('overloaded', 'too much is kept; try again later');

export const tooManyFields = (): VmcpError => new VmcpError('overloaded', 'too much is kept for one session');
