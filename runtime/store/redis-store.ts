import type { Clock } from '../process/index.ts';
import { bounded } from './bounded.ts';
import { type ConnectDeps, connectRedis, type RedisClient } from './redis-client.ts';
import { RedisLink } from './redis-link.ts';
import { RedisMessages } from './redis-messages.ts';
import { refusalsOf } from './refusals.ts';
import * as scripts from './redis-scripts.ts';
import {
  type ReadFields,
  quotaExceeded,
  type QuotaGroup,
  STORE_LIMITS,
  type Store,
  type StoreState,
  tooManyFields,
} from './store.ts';
import { REDIS_TIMES, type RedisSettings } from './store-settings.ts';
import { bucketLifeMs, countIn, parseBucketState, periodUsOf } from './token-buckets.ts';

export interface RedisStoreDeps extends ConnectDeps {
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  /** Called when the state changes, and once when the first attempt fails. `reason` holds no secret. */
  readonly onTransition: (state: StoreState, reason: string) => void;
}

/**
 * A store in Redis, or a server that speaks its protocol, shared by all replicas. Uses two connections, one of them for
 * messages.
 */
export const redisStore = (settings: RedisSettings, deps: RedisStoreDeps): Store => {
  const messages = new RedisMessages();
  const availability = availabilityOf(deps);
  const linkOf = (part: 'commands' | 'messages'): RedisLink =>
    new RedisLink(settings.times ?? REDIS_TIMES, {
      connect: (signal) => connectRedis(settings, deps, signal),
      clock: deps.clock,
      random: deps.random,
      isCluster: settings.isCluster,
      onChange: (isUp, reason) => availability.note(part, isUp, reason),
      ...(part === 'messages'
        ? { prepare: (client) => messages.prepare(client) }
        : { outcomes: availability.outcomes }),
    });
  const commands = linkOf('commands');
  const listening = linkOf('messages');
  const keyOf = (name: string): string => settings.keyPrefix + name;
  return bounded({
    ...valuesIn({ link: commands, keyOf, clock: deps.clock }),
    ...mapsIn({ link: commands, keyOf, clock: deps.clock }),
    takeTokens: async (buckets) => {
      if (buckets.length === 0) return { waitMs: 0 };
      const keys = buckets.map(({ key }) => keyOf(key));
      const sizes = buckets.flatMap((bucket) => [bucket.capacity, periodUsOf(bucket), Math.ceil(bucketLifeMs(bucket))]);
      const within = { link: commands, keyOf, clock: deps.clock };
      const answer = await runOn(within, scripts.TAKE_TOKENS, keys, sizes);
      const [waitMs = 0, emptyAt = 0] = (answer as readonly unknown[]).map(Number);
      return waitMs === 0 ? { waitMs } : { waitMs, emptyAt };
    },
    bucketCount: () => 0,
    countTokens: async (buckets) => {
      if (buckets.length === 0) return [];
      const keys = buckets.map(({ key }) => keyOf(key));
      const answer = await runOn({ link: commands, keyOf, clock: deps.clock }, scripts.READ_TOKENS, keys, []);
      const [now = '0', ...kept] = (answer as readonly Buffer[]).map(String);
      return buckets.map((bucket, index) => countIn(bucket, parseBucketState(kept[index] ?? ''), Number(now)));
    },
    publish: async (name, message, how) => {
      const channel = keyOf(name);
      const inOrder = scripts.PUBLISH_IN_ORDER.text;
      const publish = (client: RedisClient): Promise<unknown> =>
        settings.isCluster ? client.callBuffer('EVAL', inOrder, 1, channel, message) : client.publish(channel, message);
      await commands.run('publish', publish, how);
    },
    subscribe: (channel, listener) => messages.listen(listening, keyOf(channel), listener),
    state: availability.state,
    onState: availability.onState,
    firstAnswer: availability.firstAnswer,
    close: async () => {
      messages.clear();
      await Promise.all([commands.close(), listening.close()]);
    },
  });
};

interface Within {
  readonly link: RedisLink;
  readonly keyOf: (name: string) => string;
  readonly clock: Clock;
}

/** The key of the map, then those of its quota group. */
const keysOf = ({ keyOf }: Within, name: string, group: QuotaGroup | undefined): readonly string[] =>
  group ? [name, `${group.name}:used`, `${group.name}:fresh`].map(keyOf) : [keyOf(name)];

/** TTL in ms and time of expiry, as the scripts expect them. */
const lifeOf = ({ clock }: Within, ttlMs: number): readonly [number, number] => [
  Math.ceil(ttlMs),
  Math.ceil(clock.now() + ttlMs),
];

const runOn = (
  { link }: Within,
  script: scripts.Script,
  keys: readonly string[],
  args: readonly scripts.Argument[],
): Promise<unknown> => link.run(script.sha, (client) => scripts.runScript(client, script, keys, args));

const valuesIn = (within: Within): Pick<Store, 'get' | 'set' | 'setIfAbsent' | 'take' | 'delete' | 'touch'> => {
  const { link, keyOf } = within;
  return {
    get: (name) => link.run('get', (client) => valueOrNone(client.getBuffer(keyOf(name)))),
    set: async (name, value, ttlMs) => {
      await link.run('set', (client) => client.set(keyOf(name), value, 'PX', Math.ceil(ttlMs)));
    },
    setIfAbsent: async (name, value, ttlMs) => {
      const set = (client: RedisClient) => client.set(keyOf(name), value, 'PX', Math.ceil(ttlMs), 'NX');
      return (await link.run('setIfAbsent', set)) === 'OK';
    },
    take: (name) => link.run('take', (client) => valueOrNone(client.getdelBuffer(keyOf(name)))),
    delete: async (name, group) => (await runOn(within, scripts.DELETE, keysOf(within, name, group), [])) === 1,
    touch: async (name, ttlMs, group) => {
      const [keys, life] = [keysOf(within, name, group), lifeOf(within, ttlMs)];
      return (await runOn(within, scripts.TOUCH, keys, life)) === 1;
    },
  };
};

/** For a key that holds a map the server answers with an error, which means: no value. */
const valueOrNone = async (answer: Promise<Buffer | null>): Promise<Buffer | undefined> => {
  try {
    return (await answer) ?? undefined;
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('WRONGTYPE ')) return undefined;
    throw error;
  }
};

const mapsIn = (
  within: Within,
): Pick<Store, 'createMap' | 'readMap' | 'setField' | 'setFieldIfAbsent' | 'replaceField' | 'deleteField'> => {
  const { keyOf, clock } = within;
  const run = (script: scripts.Script, name: string, args: readonly scripts.Argument[]): Promise<unknown> =>
    runOn(within, script, [keyOf(name)], args);
  return {
    createMap: async (name, fields, ttlMs, group) => {
      const keys = keysOf(within, name, group);
      const args = [
        ...lifeOf(within, ttlMs),
        clock.now(),
        group?.limit ?? 0,
        group?.displacesNone ? 2 : 3,
        ...[...fields].flat(),
      ];
      const answer = await runOn(within, scripts.CREATE_MAP, keys, args);
      if (answer === -1) throw quotaExceeded();
      if (!Buffer.isBuffer(answer)) return answer === 1;
      await runOn(within, scripts.DELETE, [answer.toString(), ...keys.slice(1)], []);
      return true;
    },
    readMap: async (name, ttlMs = 0, group) => {
      return fieldsOf(await runOn(within, scripts.READ_MAP, keysOf(within, name, group), lifeOf(within, ttlMs)));
    },
    setField: async (name, field, value, maxFields = STORE_LIMITS.fields) => {
      const answer = await run(scripts.SET_FIELD, name, [field, value, Math.min(maxFields, STORE_LIMITS.fields)]);
      if (answer === -1) throw tooManyFields();
      return answer === 1;
    },
    setFieldIfAbsent: async (name, field, value) => {
      const answer = await run(scripts.SET_FIELD_IF_ABSENT, name, [field, value, STORE_LIMITS.fields]);
      if (answer === -1) throw tooManyFields();
      return Buffer.isBuffer(answer) ? ownCopy(answer) : undefined;
    },
    replaceField: async (name, field, expected, value) =>
      (await run(scripts.REPLACE_FIELD, name, [field, expected, value])) === 1,
    deleteField: async (name, field, only) =>
      (await run(scripts.DELETE_FIELD, name, only ? [field, only] : [field])) === 1,
  };
};

/** Names and values in turn, as Redis sends a hash, and at the end the time. */
const fieldsOf = (answer: unknown): ReadFields | undefined => {
  if (!Array.isArray(answer) || answer.length === 0) return undefined;
  const fields = Object.assign(new Map<string, Buffer>(), { readAtMs: Number(answer.at(-1)) });
  for (let at = 0; at + 1 < answer.length; at += 2) {
    const [name, value]: readonly unknown[] = answer.slice(at, at + 2);
    if (Buffer.isBuffer(name) && Buffer.isBuffer(value)) fields.set(name.toString(), ownCopy(value));
  }
  return fields;
};

/** A copy, since the socket's buffer of 64 KiB would stay in memory with a few bytes of it. */
const ownCopy = (value: Buffer): Buffer => {
  const copy = Buffer.allocUnsafeSlow(value.length);
  value.copy(copy);
  return copy;
};

/** The state of the store: `up` while both connections are up and commands succeed. */
const availabilityOf = ({ clock, onTransition }: Pick<RedisStoreDeps, 'clock' | 'onTransition'>) => {
  const up = { commands: false, messages: false };
  const listeners = new Set<(state: StoreState, reason: string) => void>();
  const first = Promise.withResolvers<void>();
  let refusal: string | undefined;
  let told: StoreState = 'down';
  // No state is reported until the first attempt to connect has ended.
  let isTold = false;
  const tell = (reason: string): void => {
    const state = !(up.commands && up.messages) ? 'down' : refusal === undefined ? 'up' : 'refusing';
    if (isTold ? state === told : state === 'down' && reason === '') return;
    isTold = true;
    told = state;
    if (state !== 'down') first.resolve();
    onTransition(state, reason);
    for (const listener of listeners) listener(state, reason);
  };
  const outcomes = refusalsOf(clock, (reason) => {
    refusal = reason;
    tell(reason ?? '');
  });
  return {
    state: () => told,
    outcomes,
    firstAnswer: first.promise,
    note: (part: keyof typeof up, isUp: boolean, reason: string): void => {
      up[part] = isUp;
      outcomes.clear();
      refusal = undefined;
      tell(reason);
    },
    onState: (listener: (state: StoreState, reason: string) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
};
