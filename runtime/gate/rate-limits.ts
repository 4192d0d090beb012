import { hash } from 'node:crypto';
import { type Access, type Caller, callerKey } from '../call/index.ts';
import type { Bucket } from '../store/index.ts';

/** A limit without the key of its bucket. */
export type BucketSize = Pick<Bucket, 'capacity' | 'refillPeriodMs'>;

export interface BucketSizes {
  /** One bucket of all callers together. */
  readonly shared?: BucketSize | undefined;
  /** A bucket of each user. */
  readonly perUser?: BucketSize | undefined;
}

export interface RateLimits extends BucketSizes {
  /** Name of the server, so that servers which share a store under one key prefix do not share buckets. */
  readonly server: string;
  /** Further limits, by the advertised name of the tool. */
  readonly tools: ReadonlyMap<string, BucketSizes>;
}

/** What a limit counts: all requests to the server, or calls of one tool. */
export type LimitScope = 'server' | 'tool';

export interface LimitBucket extends Bucket {
  readonly scope: LimitScope;
  readonly isPerUser: boolean;
}

/** The buckets that an access takes a token from; none: it is not limited. */
export type BucketsFor = (access: Access) => readonly LimitBucket[];

/**
 * Whether a client's request of this method counts against the limits of the server: what asks for new work does, and
 * what goes on with, or ends, work that was counted does not (docs/rate-limits.md "What counts").
 */
const COUNTS_FOR_SERVER: Readonly<Record<Access['method'], boolean>> = {
  'tools/call': true,
  'prompts/get': true,
  'resources/read': true,
  'resources/subscribe': true,
  'completion/complete': true,
  'subscriptions/listen': true,
  'resources/unsubscribe': false,
  'tasks/get': false,
  'tasks/update': false,
  'tasks/cancel': false,
};

/** Buckets that users without room of their own share, of all limits per user together (`Bucket.overflowKey`). */
const OVERFLOW_BUCKETS = 16_384;
const LEAST_OVERFLOW_BUCKETS = 64;

/** Keys are hashes: names and subjects may be long, and who lists the keys of a store learns no subject from them. */
export const bucketsFor = ({ server, tools, ...ofServer }: RateLimits): BucketsFor => {
  // One hash tag, so that a Redis Cluster keeps all buckets of a call in one slot.
  const prefix = `{${digest(server).slice(0, 16)}}`;
  const perUserLimits = [ofServer, ...tools.values()].filter(({ perUser }) => perUser !== undefined).length;
  const overflowBuckets = Math.max(LEAST_OVERFLOW_BUCKETS, Math.floor(OVERFLOW_BUCKETS / Math.max(1, perUserLimits)));
  const pair = (name: string, sizes: BucketSizes) =>
    bucketsOfPair({
      ...sizes,
      scope: name === '' ? 'server' : 'tool',
      prefix: `${prefix}${name}`,
      overflowBuckets,
    });
  const ofServerPair = pair('', ofServer);
  const ofToolPairs = new Map([...tools].map(([name, sizes]) => [name, pair(`:tool:${digest(name)}`, sizes)]));
  return ({ method, names, origin, name, caller }) => {
    const isOfServer = origin === 'client' && names !== 'task' && COUNTS_FOR_SERVER[method];
    const buckets = isOfServer ? ofServerPair(caller) : NO_BUCKETS;
    const ofTool = method === 'tools/call' ? ofToolPairs.get(name)?.(caller) : undefined;
    return ofTool ? joined(buckets, ofTool) : buckets;
  };
};

/** The last list that a list of buckets of a tool was joined to: the same as long as a user calls it. */
const lastJoined = new WeakMap<readonly LimitBucket[], JoinedBuckets>();

interface JoinedBuckets {
  readonly to: readonly LimitBucket[];
  readonly all: readonly LimitBucket[];
}

const joined = (ofServer: readonly LimitBucket[], ofTool: readonly LimitBucket[]): readonly LimitBucket[] => {
  const before = lastJoined.get(ofTool);
  if (before?.to === ofServer) return before.all;
  const all = [...ofServer, ...ofTool];
  lastJoined.set(ofTool, { to: ofServer, all });
  return all;
};

const NO_BUCKETS: readonly LimitBucket[] = [];

interface BucketPair extends BucketSizes {
  readonly scope: LimitScope;
  readonly prefix: string;
  readonly overflowBuckets: number;
}

/** The buckets of a caller are made once: a caller is one value as long as its token is cached. */
const bucketsOfPair = (pair: BucketPair): ((caller: Caller) => readonly LimitBucket[]) => {
  const { shared, scope, prefix } = pair;
  const sharedBuckets: readonly LimitBucket[] = shared
    ? [{ ...shared, scope, isPerUser: false, key: `${prefix}:shared` }]
    : [];
  const known = new WeakMap<Caller, readonly LimitBucket[]>();
  return (caller) => {
    if (!pair.perUser) return sharedBuckets;
    const before = known.get(caller);
    if (before) return before;
    const buckets = [...sharedBuckets, userBucket(pair, pair.perUser, caller)];
    known.set(caller, buckets);
    return buckets;
  };
};

const userBucket = (
  { scope, prefix, overflowBuckets }: BucketPair,
  perUser: BucketSize,
  caller: Caller,
): LimitBucket => {
  const user = hash('sha256', callerKey(caller), 'buffer');
  return {
    ...perUser,
    scope,
    isPerUser: true,
    key: `${prefix}:user:${user.toString('base64url')}`,
    overflowKey: `${prefix}:users:${user.readUInt32BE(0) % overflowBuckets}`,
  };
};

const digest = (text: string): string => hash('sha256', text, 'base64url');
