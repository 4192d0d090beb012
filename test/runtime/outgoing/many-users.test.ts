import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { until } from '../../cluster/until.ts';
import { frozenClock, type FrozenClock } from '../../fixtures/frozen-clock.ts';
import { bearer, tokenGate } from '../../fixtures/gates.ts';
import { type SecretFiles, secretFiles } from '../../fixtures/outgoing.ts';
import { startRuntime, configFile } from '../../fixtures/runtime.ts';
import { scraped } from '../../fixtures/scraped.ts';
import { answerWith, startTokenEndpoint, type TokenEndpoint } from '../../fixtures/token-endpoint.ts';
import { startLegacyOfUsers, startModernOfUsers, type UsersBackend } from '../../fixtures/users/backends.ts';
import { RefusedError, SessionClient, StatelessUser } from '../../fixtures/users/clients.ts';
import { startWitness, type Witness } from '../../fixtures/users/witness.ts';
import { covers } from '../../requirements.ts';

/**
 * Random operations of users who call at the same time. The same seed gives the same ones, and a failure names it. The
 * run of all tests has fewer than it takes to trust them; before a change of sessions, lists or credentials is done:
 * `SEED=7 OPERATIONS=10000 node --test test/runtime/outgoing/many-users.test.ts`.
 */
const SEED = Number(process.env['SEED'] ?? 1);
const OPERATIONS = Number(process.env['OPERATIONS'] ?? 3_000);
const AT_ONCE = 8;
const ENDS_AT = Date.UTC(2027, 0, 1);
const USERS = ['alice', 'bob', 'carol'] as const;
const BACKENDS = ['legacy', 'modern', 'sse'] as const;
type User = (typeof USERS)[number];

/** Numbers that are the same for the same seed, 0 ≤ x < 1. */
const seeded = (seed: number): (() => number) => {
  let last = seed;
  return () => {
    last = (last * 1_103_515_245 + 12_345) % 2_147_483_648;
    return last / 2_147_483_648;
  };
};

const each = (backends: readonly string[], methods: string): readonly string[] =>
  backends.flatMap((backend) => methods.split(' ').map((method) => `${backend} ${method}`));

/** What has to have been sent many times, or the test would show nothing of it. */
const SENT: readonly string[] = [
  ...each(BACKENDS, 'tools/call prompts/get resources/read completion/complete'),
  ...each(BACKENDS, 'tools/list prompts/list resources/list resources/templates/list'),
  ...each(['legacy', 'sse'], 'initialize notifications/initialized logging/setLevel GET DELETE'),
  ...each(['legacy', 'sse'], 'resources/subscribe resources/unsubscribe answer notifications/cancelled'),
  ...each(['modern'], 'subscriptions/listen tasks/get tasks/update tasks/cancel'),
];

/** Whether a request names something of the backend of HTTP+SSE. */
const isOverSse = (text: string): boolean => /"sse(?:_|:\/\/)/.test(text);

type Json = Readonly<Record<string, unknown>>;
const textOf = (result: Json): string => (result['content'] as readonly { readonly text: string }[])[0]?.text ?? '';
const namesIn = (result: Json, list: string): readonly string[] =>
  (result[list] as readonly { readonly uri: string }[]).map(({ uri }) => uri);

describe('many users of backends with exchanged tokens', () => {
  const clock: FrozenClock = frozenClock();
  let files: SecretFiles;
  let endpoint: TokenEndpoint;
  let witness: Witness;
  let backends: Readonly<Record<(typeof BACKENDS)[number], UsersBackend>>;
  let running: Running;
  /** The client secret that the token endpoint takes. */
  let secret = 'secret-0';

  /** Each token says whose and what for it is. */
  const issue: TokenEndpoint['instead'] = (response, { form, headers }) => {
    const basic = `Basic ${Buffer.from(`gateway:${secret}`).toString('base64')}`;
    if (headers.authorization !== basic)
      return answerWith(401, { error: 'invalid_client' })(response, { form, headers });
    const { subject_token: subject, audience } = form;
    const said = `exchanged ${endpoint.exchanges.length} for ${subject} at ${audience}`;
    const token = { access_token: Buffer.from(said).toString('base64url'), token_type: 'Bearer', expires_in: 120 };
    answerWith(200, token)(response, { form, headers });
  };

  before(async () => {
    files = await secretFiles();
    await files.write('client', secret);
    endpoint = await startTokenEndpoint();
    endpoint.instead = issue;
    witness = startWitness(() => endpoint.exchanges.length);
    backends = {
      legacy: await startLegacyOfUsers('legacy', witness),
      modern: await startModernOfUsers('modern', witness),
      sse: await startLegacyOfUsers('sse', witness, 'sse'),
    };
    const exchange = (audience: string) => ({
      type: 'token_exchange',
      tokenExchange: { tokenUrl: endpoint.url, audience, clientId: 'gateway', clientSecretFile: files.path('client') },
    });
    const file = configFile(
      {},
      {
        backends: BACKENDS.map((name) => ({
          name,
          url: backends[name].url,
          transport: name === 'sse' ? 'sse' : 'streamable-http',
        })),
        outgoingAuth: {
          source: 'inline',
          backends: Object.fromEntries(BACKENDS.map((name) => [name, exchange(name)])),
        },
      },
    );
    running = await startRuntime(file, {}, { clock, features: () => ({ gate: tokenGate(clock.now) }) });
  });
  after(async () => {
    clock.advance(60_000);
    const stopped = running.stop();
    await Promise.all(BACKENDS.map((name) => backends[name].close()));
    clock.advance(60_000);
    await stopped;
    await endpoint.close();
    await files.close();
  });

  /** What users do. All that is random is drawn when an operation begins, so that it does not depend on answers. */
  const world = () => {
    const [random, midway] = [seeded(SEED), seeded(SEED + 1)];
    const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
    const serials = new Map<User, number>(USERS.map((user) => [user, 0]));
    const renew = (user: User): void => void serials.set(user, (serials.get(user) ?? 0) + 1);
    const newOf = (user: User) => ({
      url: running.url,
      user,
      headers: () => {
        // In the middle of calls, too: what is answered or cancelled may come with a newer token.
        if (midway() < 0.01) renew(user);
        return bearer(user, ENDS_AT, serials.get(user));
      },
      onFault: (fault: string) => void witness.faults.push(fault),
    });
    const sessions = new Map<User, { readonly client: Promise<SessionClient>; streams: number }>();
    const stateless = new Map(USERS.map((user) => [user, new StatelessUser(newOf(user))]));
    const tasks = new Map<User, string[]>(USERS.map((user) => [user, []]));
    let number = 0;

    const sessionOf = (user: User) => {
      const known = sessions.get(user) ?? { client: new SessionClient(newOf(user)).open(), streams: 0 };
      sessions.set(user, known);
      return known;
    };
    const statelessOf = (user: User): StatelessUser => stateless.get(user) ?? assert.fail();
    type Client = Pick<StatelessUser, 'request'>;
    const clientOf = (user: User): Promise<Client> =>
      random() < 0.5 ? sessionOf(user).client : Promise.resolve(statelessOf(user));
    const numbered = (user: User) => ({ who: user, n: (number += 1) });

    const call = async (user: User, tool: string): Promise<void> => {
      const [client, name, args] = [clientOf(user), `${pick(BACKENDS)}_${tool}`, numbered(user)];
      const result = await (await client).request('tools/call', { name, arguments: args });
      assert.equal(textOf(result), `${user} ${args.n}`, name);
    };
    const cancelled = async (user: User): Promise<void> => {
      const [backend, args, isSession] = [pick(BACKENDS), numbered(user), random() < 0.5];
      const params = { name: `${backend}_slow`, arguments: args };
      if (isSession) {
        const session = await sessionOf(user).client;
        const { answer, cancel } = session.begin('tools/call', params);
        await Promise.race([backends[backend].called(args.n), answer]);
        await cancel();
        return void (await answer);
      }
      const gone = new AbortController();
      const ended = statelessOf(user).request('tools/call', params, gone.signal);
      await Promise.race([backends[backend].called(args.n), ended]);
      gone.abort();
      await assert.rejects(ended, { name: 'AbortError' });
    };
    const uriOf = (user: User): string => `${pick(BACKENDS)}://${user}/${1 + Math.floor(random() * 3)}`;
    const listsAre = async (user: User): Promise<void> => {
      const [client, method] = [clientOf(user), pick(['tools/list', 'prompts/list', 'resources/templates/list'])];
      await (await client).request(method);
    };
    const resourcesAre = async (user: User): Promise<void> => {
      const listed = namesIn(await (await clientOf(user)).request('resources/list'), 'resources');
      assert.deepEqual(new Set(listed), new Set(BACKENDS.map((backend) => `${backend}://${user}/1`)));
    };
    const listen = async (user: User): Promise<void> => {
      const client = statelessOf(user);
      const [wanted, uri] = [random(), uriOf(user)];
      const taskIds = tasks.get(user)?.slice(-1) ?? [];
      if (client.listens >= 2) return client.quiet(1);
      if (wanted < 0.4) return client.listen({ resourceSubscriptions: [uri] });
      if (wanted < 0.7 || taskIds.length === 0) return client.listen({ toolsListChanged: true });
      return client.listen({ taskIds });
    };
    const task = async (user: User): Promise<void> => {
      const [known, client] = [tasks.get(user) ?? [], statelessOf(user)];
      const [taskId, method] = [known.at(-1), pick(['tasks/get', 'tasks/update', 'tasks/cancel'])];
      if (taskId === undefined || random() < 0.2) {
        const begun = await client.request('tools/call', { name: 'modern_job', arguments: numbered(user) });
        return void known.push(String(begun['taskId']));
      }
      const answers = { inputResponses: { q: { action: 'accept', content: { name: user } } } };
      const result = await client.request(method, { taskId, ...(method === 'tasks/update' && answers) });
      if (method === 'tasks/get') assert.equal(textOf(result['result'] as Json), user);
    };

    const operations: readonly ((user: User) => Promise<unknown>)[] = [
      (user) => call(user, 'echo'),
      (user) => call(user, 'echo'),
      (user) => call(user, 'echo'),
      (user) => call(user, 'ask'),
      (user) => call(user, 'sample'),
      async (user) => {
        const [client, name] = [clientOf(user), `${pick(BACKENDS)}_p`];
        await (await client).request('prompts/get', { name, arguments: { who: user } });
      },
      async (user) => {
        const [client, uri] = [clientOf(user), uriOf(user)];
        assert.match(JSON.stringify(await (await client).request('resources/read', { uri })), new RegExp(`"${user}"`));
      },
      async (user) => {
        const [client, name] = [clientOf(user), `${pick(BACKENDS)}_p`];
        const params = { ref: { type: 'ref/prompt', name }, argument: { name: 'x', value: user } };
        const { completion } = (await (await client).request('completion/complete', params)) as {
          readonly completion: { readonly values: readonly string[] };
        };
        assert.deepEqual(completion.values, [user]);
      },
      async (user) => {
        const [method, uri] = [pick(['resources/subscribe', 'resources/unsubscribe']), uriOf(user)];
        await (await sessionOf(user).client).request(method, { uri });
      },
      async (user) => {
        const level = pick(['debug', 'error']);
        await (await sessionOf(user).client).request('logging/setLevel', { level });
      },
      async (user) => {
        const session = sessionOf(user);
        if (session.streams >= 2) return;
        session.streams += 1;
        await (await session.client).listen();
      },
      listsAre,
      resourcesAre,
      listen,
      task,
      cancelled,
    ];
    /** What happens between operations. Lists that no call has waited for have 10 s. */
    const upsets: readonly (() => unknown)[] = [
      () => clock.advance(9_000),
      () => backends[pick(BACKENDS)].forget(),
      () => backends[pick(BACKENDS)].breakStreams(),
      () => backends[pick(BACKENDS)].tellAll(),
      () => renew(pick(USERS)),
      () => witness.revoke(pick(BACKENDS), pick(USERS)),
      async () => {
        const user = pick(USERS);
        const session = sessions.get(user);
        sessions.delete(user);
        await (await session?.client)?.end();
      },
      async () => {
        secret = `secret-${number}`;
        await files.write('client', secret);
      },
    ];
    /** A call over HTTP+SSE is lost where the gateway has not noticed yet that the stream was broken off. */
    let lost = 0;
    const noteFailure = (error: unknown): void => {
      const isLost =
        error instanceof RefusedError && error.reason === 'backend_unavailable' && isOverSse(error.message);
      if (!isLost) throw error;
      lost += 1;
    };
    return {
      lost: () => lost,
      step: async (): Promise<void> => {
        const begun = Array.from({ length: AT_ONCE }, () => pick(operations)(pick(USERS)));
        for (const ended of await Promise.allSettled(begun)) if (ended.status === 'rejected') noteFailure(ended.reason);
        if (random() < 0.3) await pick(upsets)();
      },
      end: async (): Promise<void> => {
        for (const { client } of sessions.values()) await (await client).end();
        for (const client of stateless.values()) await client.quiet();
      },
    };
  };

  covers('outgoing-auth.boundary-separate');
  test('no request ever carries the credential of another user, whatever is sent and when', async () => {
    const { step, end, lost } = world();
    for (let done = 0; done < OPERATIONS; done += AT_ONCE) {
      const where = `within ${AT_ONCE} operations after ${done} of seed ${SEED}`;
      await step().catch((cause: unknown) => {
        throw new Error(where, { cause });
      });
      assert.deepEqual(witness.faults, [], where);
    }
    await end();
    assert.deepEqual(witness.faults, []);
    await until('the end of all calls that the gateway counts', async () => {
      // A call whose answer was lost with its stream ends when it has been silent for too long.
      clock.advance(60_000);
      const counted = await scraped(running, 'vmcp_backend_calls_active');
      return counted.length === BACKENDS.length && counted.every((line) => line.endsWith(' 0')) ? counted : undefined;
    });
    assert.ok(lost() < OPERATIONS / 50, `${lost()} calls were lost`);
    const rare = SENT.filter((kind) => (witness.counts.get(kind) ?? 0) < OPERATIONS / 1_000);
    assert.deepEqual(rare, [], `of seed ${SEED}`);
  });
});
