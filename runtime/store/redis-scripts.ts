import { createHash } from 'node:crypto';
import type { RedisClient } from './redis-client.ts';

/**
 * Several steps that must be one. KEYS[1] is the value or the map; where it is counted, KEYS[2] and KEYS[3] are the
 * sorted sets of its room: those that were used and those that never were, by the time that they end (milliseconds
 * since the epoch by the replicas' clocks, to within seconds; `TAKE_TOKENS` alone needs the server's own clock).
 */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

const script = (text: string): Script => ({ text, sha: createHash('sha1').update(text).digest('hex') });

/** Commands for maps fail on a plain value, which is treated as a missing map. */
const IS_MAP = `
local function isMap()
  return redis.call('TYPE', KEYS[1]).ok == 'hash'
end`;

const COUNT = `
local function leave()
  for i = 2, #KEYS do redis.call('ZREM', KEYS[i], KEYS[1]) end
end
local function count(set, ttl, ends)
  leave()
  redis.call('ZADD', set, ends, KEYS[1])
  if redis.call('PTTL', set) < tonumber(ttl) then redis.call('PEXPIRE', set, ttl) end
end`;

/**
 * 1: created, 0: the key exists already, -1: no room; or the key of the map that was displaced and must still be
 * deleted. The map is written first: a full Redis refuses a command that needs memory only as long as the script has
 * written nothing. The place of an earlier map of this name is freed first. ARGV[5] is the index of the
 * sorted set that the map enters.
 */
export const CREATE_MAP = script(`${COUNT}
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
for i = 6, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
local displaced
if #KEYS > 1 then
  leave()
  for i = 2, 3 do redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', ARGV[3]) end
  if redis.call('ZCARD', KEYS[2]) + redis.call('ZCARD', KEYS[3]) >= tonumber(ARGV[4]) then
    displaced = redis.call('ZPOPMIN', KEYS[3])[1]
    if not displaced then
      redis.call('DEL', KEYS[1])
      return -1
    end
  end
  count(KEYS[tonumber(ARGV[5])], ARGV[1], ARGV[2])
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return displaced or 1`);

/**
 * All fields of a map, names and values in turn, then the time of the server in milliseconds: the nodes of a cluster
 * have a clock each. A TTL other than 0 renews the map.
 */
export const READ_MAP = script(`${IS_MAP}${COUNT}
if not isMap() then return {} end
local all, time = redis.call('HGETALL', KEYS[1]), redis.call('TIME')
all[#all + 1] = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
if ARGV[1] ~= '0' then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  if #KEYS > 1 then count(KEYS[2], ARGV[1], ARGV[2]) end
end
return all`);

/** 1: the TTL was set, 0: the key does not exist. */
export const TOUCH = script(`${COUNT}
if redis.call('PEXPIRE', KEYS[1], ARGV[1]) == 0 then return 0 end
if #KEYS > 1 then count(KEYS[2], ARGV[1], ARGV[2]) end
return 1`);

/** 1: deleted, 0: the key did not exist; its place in the quota group is freed in any case. */
export const DELETE = script(`${COUNT}
leave()
return redis.call('DEL', KEYS[1])`);

/** 1: set, 0: the map is gone, -1: the map is full. */
export const SET_FIELD = script(`${IS_MAP}
if not isMap() then return 0 end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return -1 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1`);

/** The value that the field holds now, or one of the numbers of SET_FIELD. */
export const SET_FIELD_IF_ABSENT = script(`${IS_MAP}
if not isMap() then return 0 end
local kept = redis.call('HGET', KEYS[1], ARGV[1])
if kept then return kept end
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return -1 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return ARGV[2]`);

/** 1: replaced, 0: the field holds another value, or is missing. */
export const REPLACE_FIELD = script(`${IS_MAP}
if not isMap() or redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1`);

/** Redis itself deletes a map whose last field goes. */
export const DELETE_FIELD = script(`${IS_MAP}
if not isMap() then return 0 end
if #ARGV > 1 and redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
return redis.call('HDEL', KEYS[1], ARGV[1])`);

/**
 * The same as `takeFrom`, in one step and by the clock of the server; each of KEYS is a bucket. Returns milliseconds.
 * ARGV: of each bucket its capacity, its refill period in microseconds and how long it is kept, in milliseconds.
 */
export const TAKE_TOKENS = script(`
local function returnedAfter(tokens, capacity, period)
  local rest = period % capacity
  local high = math.floor(tokens / 65536) * rest
  local left = high % capacity
  local low = left * 65536 + (tokens % 65536) * rest
  return tokens * ((period - rest) / capacity) + ((high - left) / capacity) * 65536 + math.ceil(low / capacity)
end
local time = redis.call('TIME')
local now, wait, empty, states = tonumber(time[1]) * 1000000 + tonumber(time[2]), 0, 0, {}
for i, key in ipairs(KEYS) do
  local capacity, period = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1])
  local kept = redis.call('TYPE', key).ok == 'string' and redis.call('GET', key) or ''
  local spent, at, keptCapacity, keptPeriod = string.match(kept, '^(%d+) (%d+) (%d+) (%d+)$')
  if spent then
    spent, at = tonumber(spent), math.min(tonumber(at), now)
    keptCapacity, keptPeriod = tonumber(keptCapacity), tonumber(keptPeriod)
    if keptCapacity ~= capacity or keptPeriod ~= period then
      local exact = math.max(0, math.min(capacity, spent - (now - at) * keptCapacity / keptPeriod))
      spent = math.ceil(exact)
      at = now - math.floor((spent - exact) * period / capacity)
    end
    local periods = math.floor((now - at) / period)
    spent, at = spent - periods * capacity, at + periods * period
  end
  if not spent or spent <= 0 or returnedAfter(spent, capacity, period) <= now - at then spent, at = 0, now end
  local missing = spent + 1 - capacity
  local own = missing > 0 and returnedAfter(missing, capacity, period) - (now - at) or 0
  if own > wait then wait, empty = own, i - 1 end
  states[i] = string.format('%.0f %.0f %.0f %.0f', spent + 1, at, capacity, period)
end
if wait > 0 then return { math.ceil(wait / 1000), empty } end
for i, key in ipairs(KEYS) do redis.call('SET', key, states[i], 'PX', ARGV[3 * i]) end
return { 0, 0 }`);

/**
 * The time of the server in microseconds, then the states of the buckets at KEYS as `TAKE_TOKENS` writes them, empty
 * for unknown ones.
 */
export const READ_TOKENS = script(`
local time = redis.call('TIME')
local states = { string.format('%.0f', tonumber(time[1]) * 1000000 + tonumber(time[2])) }
for i, key in ipairs(KEYS) do
  states[i + 1] = redis.call('TYPE', key).ok == 'string' and redis.call('GET', key) or ''
end
return states`);

/**
 * In a cluster, plain messages are sent by whichever node receives them; the node of the channel's slot keeps them in
 * order.
 */
export const PUBLISH_IN_ORDER = script(`return redis.call('PUBLISH', KEYS[1], ARGV[1])`);

export type Argument = string | Buffer | number;

/** Sends the text only to a server that does not know it yet. */
export const runScript = async (
  client: RedisClient,
  { text, sha }: Script,
  keys: readonly string[],
  args: readonly Argument[],
): Promise<unknown> => {
  try {
    return await client.callBuffer('EVALSHA', sha, keys.length, ...keys, ...args);
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
    return client.callBuffer('EVAL', text, keys.length, ...keys, ...args);
  }
};
