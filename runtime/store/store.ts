import { VmcpError } from '../errors.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/** Bounds of one call; exceeding them is a fault of this program, not of the store. */
export const STORE_LIMITS = Object.freeze({
  /**
   * Bytes of a key, a channel or the name of a quota group, with the prefix of a view (`prefixed`) and without that of
   * the store itself.
   */
  keyBytes: 512,
  fieldBytes: 512,
  valueBytes: MIB,
  messageBytes: 8 * MIB + 64 * KIB,
  /** Fields of one map, which has at least one. */
  fields: 4_096,
  /** At least 1. */
  ttlMs: 366 * 24 * 3_600_000,
});

/**
 * What replicas share: values and maps that expire, and messages. Keys, fields and channels are plain texts; a caller
 * hashes a secret before it puts it into one. A value may be empty. A key holds a value or a map: a call for values
 * treats a map as missing and leaves it unchanged, and the other way round. Concurrent calls are executed in any order,
 * and a buffer argument must not change until the call has settled.
 *
 * Every call settles within the deadline of the store and throws VmcpError: `store_unavailable` when the store is
 * unreachable (the call may have been executed), refuses, or was closed; `overloaded` when a map, a quota group or the
 * memory of the process is full; `internal` when the call is out of `STORE_LIMITS`, and then the store never sees it.
 */
export interface Store extends StoreMessages {
  readonly get: (key: string) => Promise<Buffer | undefined>;
  /** Replaces whatever the key held, even a map. */
  readonly set: (key: string, value: Buffer, ttlMs: number) => Promise<void>;
  /** False: the key holds a value or a map already, which stays. */
  readonly setIfAbsent: (key: string, value: Buffer, ttlMs: number) => Promise<boolean>;
  /** Reads and deletes in one step: of concurrent calls, one gets the value. */
  readonly take: (key: string) => Promise<Buffer | undefined>;
  /** Deletes a value or a map. False: there was none. */
  readonly delete: (key: string, group?: QuotaGroup) => Promise<boolean>;
  /** Sets a new TTL for a value or a map. False: the key does not exist. */
  readonly touch: (key: string, ttlMs: number, group?: QuotaGroup) => Promise<boolean>;
  /**
   * Creates a map with these fields. False: the key holds a value or a map already, which stays. Throws `overloaded`
   * when the quota group is full.
   */
  readonly createMap: (key: string, fields: Fields, ttlMs: number, group?: QuotaGroup) => Promise<boolean>;
  /** All fields, in no particular order; `ttlMs` sets a new TTL. Undefined: the map does not exist. */
  readonly readMap: (key: string, ttlMs?: number, group?: QuotaGroup) => Promise<ReadFields | undefined>;
  /**
   * False: the map does not exist, and is not created. Throws `overloaded` when the map would have more than
   * `maxFields` fields.
   */
  readonly setField: (key: string, field: string, value: Buffer, maxFields?: number) => Promise<boolean>;
  /**
   * Resolves with the value of the field afterwards: of concurrent calls, the first wins. Undefined: the map does not
   * exist.
   */
  readonly setFieldIfAbsent: (key: string, field: string, value: Buffer) => Promise<Buffer | undefined>;
  /**
   * Replaces the value of a field that holds `expected`; of concurrent calls that expect the same value, one does.
   * False: the field holds another value, or is missing.
   */
  readonly replaceField: (key: string, field: string, expected: Buffer, value: Buffer) => Promise<boolean>;
  /**
   * With `only`, deletes the field only if it holds that value. A map that loses its last field is deleted. False:
   * nothing was deleted.
   */
  readonly deleteField: (key: string, field: string, only?: Buffer) => Promise<boolean>;
  /**
   * Takes one token from every bucket, or from none; by the clock of the store. No promise where the store is this
   * process, so that no call waits for a count in memory. Rejects, and never throws. In a cluster their keys have one
   * hash tag. Keys of buckets hold nothing else: what they hold otherwise may be overwritten.
   */
  readonly takeTokens: (buckets: readonly Bucket[]) => Taken | Promise<Taken>;
  /** Buckets in the memory of this process. */
  readonly bucketCount: () => number;
  /** What each bucket holds at this moment, in the order of the buckets, without taking anything. */
  readonly countTokens: (buckets: readonly Bucket[]) => Promise<readonly TokenCount[]>;
}

/** What came of `takeTokens`. */
export interface Taken {
  /** 0: one token was taken from every bucket. Else milliseconds until all buckets have one, rounded up. */
  readonly waitMs: number;
  /** Index of the bucket that has to be waited for. */
  readonly emptyAt?: number;
}

/** Whole tokens in a bucket, and the milliseconds until it has one, rounded up: 0 where it has. */
export interface TokenCount {
  readonly available: number;
  readonly waitMs: number;
}

/** The fields of a map. */
export type Fields = ReadonlyMap<string, Buffer>;

/** The fields of a map as they were read. */
export interface ReadFields extends Fields {
  /** When, by the clock of the store where the map is, which is the same for all replicas: since the epoch. */
  readonly readAtMs: number;
}

/**
 * A token bucket that refills evenly. An unknown bucket is full; a bucket is forgotten 2 × `refillPeriodMs` after its
 * last token was taken. One whose size has changed keeps count of the tokens that are spent.
 */
export interface Bucket {
  readonly key: string;
  /** Whole, 1 to 2³¹ - 1. */
  readonly capacity: number;
  /** Time from empty to full, at least 1; counted in whole microseconds. */
  readonly refillPeriodMs: number;
  /**
   * Key of a bucket of the same size that others share: used in place of `key` by a store in memory that has no room
   * for another bucket. Default: the bucket always has room.
   */
  readonly overflowKey?: string;
}

/**
 * Maps that are counted together, whichever replica creates them. Each call that creates, renews or deletes such a map
 * names its quota group: a map has its place until the TTL last given with the group ends, or until it is deleted. One
 * map more than `limit` displaces the map that expires first among those never renewed; where there is none, the group
 * is full.
 */
export interface QuotaGroup {
  /**
   * In a cluster its hash tag (`{…}`) must be that of its maps. Keys that begin with it and a colon are the store's
   * own.
   */
  readonly name: string;
  readonly limit: number;
  /** A map that is created has its place as one that was renewed has: beyond `limit` the group is full. */
  readonly displacesNone?: true;
}

/**
 * Messages to the current subscribers, including the sender; the store does not keep them. Messages of one sender on
 * one channel arrive in order.
 */
interface StoreMessages {
  /**
   * `withoutDeadline`: no deadline but the connection's life; a slow call does not mean that the store is unreachable.
   */
  readonly publish: (channel: string, message: Buffer, how?: 'withoutDeadline') => Promise<void>;
  /**
   * Subscribes, through every outage, until `end`. The listener must not throw, nor change the message, which other
   * listeners get, too.
   */
  readonly subscribe: (channel: string, listener: (message: Buffer) => void) => Subscription;
  /** Whether calls may succeed; messages are lost while the state is `down`. */
  readonly state: () => StoreState;
  /**
   * Calls `listener` on each change; returns the function that unsubscribes. `reason` is empty for `up`, and holds no
   * secret.
   */
  readonly onState: (listener: (state: StoreState, reason: string) => void) => () => void;
  /** Resolves once the store has answered for the first time (`/readyz`: docs/decisions.md "Management port"). */
  readonly firstAnswer: Promise<void>;
  /** Ends all subscriptions. */
  readonly close: () => Promise<void>;
}

/** A subscription to a channel, until `end` is called. */
export interface Subscription {
  /** Resolves when messages have begun to arrive. */
  readonly isLive: Promise<void>;
  readonly end: () => void;
}

/** `refusing`: the store is connected and answers commands with errors; some may succeed. */
export type StoreState = 'up' | 'refusing' | 'down';

/** `detail` is for the log and holds no secret. */
export const storeUnavailable = (detail: string): VmcpError =>
  new VmcpError('store_unavailable', 'what is kept cannot be reached at the moment; try again', { detail });

/** The error for a full quota group, or for full memory of the process. */
export const quotaExceeded = (): VmcpError => new VmcpError('overloaded', 'too much is kept; try again later');

/** The error for a map with too many fields. */
export const tooManyFields = (): VmcpError => new VmcpError('overloaded', 'too much is kept for one session');
