import { createHash } from 'node:crypto';
import type { RedisClient } from './redis-client.ts';

/** What takes several steps and must be one. All touch one key only, so that they run in a cluster too. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

const script = (text: string): Script => ({ text, sha: createHash('sha1').update(text).digest('hex') });

export const CREATE_MAP = script(`
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1`);

export const READ_MAP = script(`
local all = redis.call('HGETALL', KEYS[1])
if #all > 0 and ARGV[1] ~= '0' then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return all`);

/** 1: set, 0: the map is gone, -1: the map is full. */
export const SET_FIELD = script(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return -1 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1`);

/** The value that the field holds now, or one of the numbers of SET_FIELD. */
export const SET_FIELD_IF_ABSENT = script(`
local kept = redis.call('HGET', KEYS[1], ARGV[1])
if kept then return kept end
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return -1 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return ARGV[2]`);

/** A map whose last field goes is gone itself. */
export const DELETE_FIELD = script(`
if #ARGV > 1 and redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
return redis.call('HDEL', KEYS[1], ARGV[1])`);

/** A cluster carries plain messages from whichever node gets them; the node of the channel's slot keeps them in order. */
export const PUBLISH_IN_ORDER = script(`return redis.call('PUBLISH', KEYS[1], ARGV[1])`);

export type Argument = string | Buffer | number;

/** Sends the text only to a server that does not know it yet. */
export const runScript = async (
  client: RedisClient,
  { text, sha }: Script,
  key: string,
  args: readonly Argument[],
): Promise<unknown> => {
  try {
    return await client.callBuffer('EVALSHA', sha, 1, key, ...args);
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
    return client.callBuffer('EVAL', text, 1, key, ...args);
  }
};
