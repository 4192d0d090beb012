import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { JWK } from 'oidc-provider';
import { scratchFolder } from '../../../cluster/scratch.ts';
import { freePortPair } from '../../../fixtures/ports.ts';
import { noRedis, startRedis, type TestRedis } from '../../../fixtures/redis.ts';
import type { ClientArguments, ClientReport } from './client-process.ts';
import { refreshTokenOf, signIn } from './client.ts';
import { newKey } from './provider.ts';
import type { ReplicaArguments } from './replica-process.ts';

const USERS = 50;
/** Of each user, by each of two processes. */
const REFRESHES = 12;

const program = (file: string, given: ReplicaArguments | ClientArguments): ChildProcess =>
  spawn(process.execPath, [join(import.meta.dirname, file), JSON.stringify(given)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });

const firstLine = async (child: ChildProcess): Promise<string> => {
  const { stdout } = child;
  if (!stdout) throw new Error('no output');
  for await (const line of createInterface(stdout)) return line;
  throw new Error('ended without a line');
};

/** A process that is started again, on its port, whenever it is killed. */
class ReplicaProcess {
  readonly #given: ReplicaArguments;
  #child: ChildProcess | undefined;

  constructor(given: ReplicaArguments) {
    this.#given = given;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#given.port}`;
  }

  async start(): Promise<void> {
    this.#child = program('replica-process.ts', this.#given);
    assert.equal(await firstLine(this.#child), 'serving');
  }

  async kill(): Promise<void> {
    if (!this.#child) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}

describe('two processes that refresh the tokens of the same users at two replicas', { skip: noRedis }, () => {
  let redis: TestRedis;
  let replicas: readonly ReplicaProcess[];
  let folder: Awaited<ReturnType<typeof scratchFolder>>;
  before(async () => {
    redis = await startRedis();
    folder = await scratchFolder('tokens');
    const key: JWK = await newKey();
    const given = async (): Promise<ReplicaArguments> => ({ redis: redis.address, port: await freePortPair(), key });
    replicas = [new ReplicaProcess(await given()), new ReplicaProcess(await given())];
    await Promise.all(replicas.map((replica) => replica.start()));
  });
  after(async () => {
    await Promise.all(replicas.map((replica) => replica.kill()));
    await redis.stop();
    await folder.remove();
  });

  test('log nobody out, though answers are lost and replicas are killed', async () => {
    const servers = replicas.map(({ url }) => url);
    for (let user = 0; user < USERS; user += 1) {
      const answer = await signIn(servers[user % 2] ?? '', { user: `user-${user}`, replicas: servers });
      await writeFile(join(folder.path, `${user}`), refreshTokenOf(answer));
    }
    const given = { folder: folder.path, servers, users: USERS, refreshes: REFRESHES };
    const clients = ['one', 'two'].map((name) => program('client-process.ts', { ...given, name }));
    const reports = Promise.all(clients.map(firstLine));
    let kills = 0;
    while (await Promise.race([reports.then(() => false), pause(500 + Math.random() * 1_000, true)])) {
      const replica = replicas[kills % 2];
      await replica?.kill();
      await replica?.start();
      kills += 1;
    }
    const all = (await reports).map((line) => JSON.parse(line) as ClientReport);
    assert.deepEqual(
      all.flatMap(({ logouts }) => logouts),
      [],
    );
    assert.equal(sum(all, 'refreshes'), 2 * USERS * REFRESHES);
    assert.ok(sum(all, 'lostAnswers') > 0 && kills > 0);
  });
});

const sum = (reports: readonly ClientReport[], of: 'refreshes' | 'lostAnswers'): number =>
  reports.reduce((total, report) => total + report[of], 0);
