import { VmcpError } from '../errors.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/** What one call may carry; beyond it is a fault of ours, not of the store. */
export const STORE_LIMITS = Object.freeze({
  keyBytes: 512,
  valueBytes: MIB,
  messageBytes: 8 * MIB + 64 * KIB,
  /** Of one map. */
  fields: 4_096,
  ttlMs: 366 * 24 * 3_600_000,
});

/**
 * What replicas share: values and maps that end by themselves, and messages. Keys and channels are texts of ours; whoever puts a
 * secret into one hashes it first. Every call settles within the deadline of the store and throws VmcpError: `store_unavailable`
 * when the store is away (the call may have been carried out), `overloaded` when there is no room.
 */
export interface Store extends StoreMessages {
  readonly get: (key: string) => Promise<Buffer | undefined>;
  readonly set: (key: string, value: Buffer, ttlMs: number) => Promise<void>;
  /** False: there is one already, and it stays. */
  readonly setIfAbsent: (key: string, value: Buffer, ttlMs: number) => Promise<boolean>;
  /** Reads and deletes in one step: of many that take at once, one gets the value. */
  readonly take: (key: string) => Promise<Buffer | undefined>;
  /** A value or a map. False: there was none. */
  readonly delete: (key: string, room?: Room) => Promise<boolean>;
  /** Begins the life of a value or a map anew. False: it is gone. */
  readonly touch: (key: string, ttlMs: number, room?: Room) => Promise<boolean>;
  /** A map with these fields. False: there is something already, and it stays. Throws `overloaded` when the room is full. */
  readonly createMap: (key: string, fields: Fields, ttlMs: number, room?: Room) => Promise<boolean>;
  /** All fields; with `ttlMs` its life begins anew. Undefined: it is gone. */
  readonly readMap: (key: string, ttlMs?: number, room?: Room) => Promise<Fields | undefined>;
  /** False: the map is gone, and is not made anew. Throws `overloaded` when a new field would make it more than `maxFields`. */
  readonly setField: (key: string, field: string, value: Buffer, maxFields?: number) => Promise<boolean>;
  /** What the field holds afterwards: of many that set at once, the first wins. Undefined: the map is gone. */
  readonly setFieldIfAbsent: (key: string, field: string, value: Buffer) => Promise<Buffer | undefined>;
  /** With `only`, not when the field holds something else by now. False: nothing was deleted. */
  readonly deleteField: (key: string, field: string, only?: Buffer) => Promise<boolean>;
}

export type Fields = ReadonlyMap<string, Buffer>;

/**
 * Maps that are counted together, whoever makes them; who makes a map in a room names the room whenever its life changes. One more
 * than `limit` displaces the oldest whose life was never begun anew; where there is none, the room is full.
 */
export interface Room {
  /** In a cluster its hash tag (`{…}`) must be that of its maps. */
  readonly name: string;
  readonly limit: number;
}

/** Messages to whoever listens at that moment; nobody keeps them. Those of one sender on one channel arrive in order. */
interface StoreMessages {
  /** `patiently`: it may take as long as the connection lasts, which is no sign that the store is away. */
  readonly publish: (channel: string, message: Buffer, how?: 'patiently') => Promise<void>;
  /** Listens, through every outage, until it is ended. The listener must not throw. */
  readonly subscribe: (channel: string, listener: (message: Buffer) => void) => Subscription;
  /** Whether calls have a chance; messages are lost while it is `down`. */
  readonly state: () => StoreState;
  /** Returns how to stop hearing of changes. `reason` is empty when it is up, and holds no secret. */
  readonly onState: (listener: (state: StoreState, reason: string) => void) => () => void;
  /** Resolves once the store has answered for the first time (decisions "Management port": `/readyz`). */
  readonly firstAnswer: Promise<void>;
  readonly close: () => Promise<void>;
}

export interface Subscription {
  /** Resolves when messages have begun to arrive. */
  readonly isLive: Promise<void>;
  readonly end: () => void;
}

/** `refusing`: it is there, and answers commands with errors; some may succeed. */
export type StoreState = 'up' | 'refusing' | 'down';

/** Throws when a call asks for more than the store takes: a fault of ours. */
export const checkBounds = (asked: {
  readonly key: string;
  readonly value?: Buffer;
  readonly ttlMs?: number;
  readonly message?: Buffer;
}): void => {
  const { key, value, ttlMs = 1, message } = asked;
  if (Buffer.byteLength(key) > STORE_LIMITS.keyBytes) throw outOfBounds(`a key of ${key.length} characters`);
  if (value && value.length > STORE_LIMITS.valueBytes) throw outOfBounds(`a value of ${value.length} bytes`);
  if (message && message.length > STORE_LIMITS.messageBytes) throw outOfBounds(`a message of ${message.length} bytes`);
  if (!(ttlMs >= 1 && ttlMs <= STORE_LIMITS.ttlMs)) throw outOfBounds(`a life of ${ttlMs} ms`);
};

const outOfBounds = (what: string): VmcpError =>
  new VmcpError('internal', 'internal error', { detail: `store: ${what}` });

/** `detail` is for the log and holds no secret. */
export const storeUnavailable = (detail: string): VmcpError =>
  new VmcpError('store_unavailable', 'the session store does not answer; try again', { detail });

export const noRoom = (): VmcpError => new VmcpError('overloaded', 'too much is kept; try again later');

export const tooManyFields = (): VmcpError => new VmcpError('overloaded', 'too much is kept for one session');
