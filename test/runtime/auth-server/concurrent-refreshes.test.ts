import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { type AuthReplicas, startAuthReplicas } from '../../fixtures/auth-replicas.ts';
import { noCertificates } from '../../fixtures/certificates.ts';
import { noRedis } from '../../fixtures/redis.ts';
import { registerClient, type TestClient, textIn } from '../../fixtures/signing-in.ts';
import { scratchFolder } from '../../cluster/scratch.ts';
import type { RefreshesArguments, RefreshesReport } from './concurrent-refreshes-process.ts';

const USERS = 50;
/** Of each user, by each of two processes; `REFRESHES=1000` is the full size. */
const REFRESHES = Number(process.env['REFRESHES'] ?? '6');
/** Access tokens of the provider are good for so long that some expire in every round. */
const UPSTREAM_SECONDS = 2;

/** The provider breaks connections for so long, so often. */
const AWAY = { forMs: 40, everyMs: 400 };

describe(
  'users whose clients refresh in two processes, at two replicas, and whose provider rotates, too',
  {
    skip: noRedis || noCertificates,
  },
  () => {
    let at: AuthReplicas;
    let folder: Awaited<ReturnType<typeof scratchFolder>>;
    let client: TestClient;
    let person = '';
    before(async () => {
      folder = await scratchFolder('concurrent-refreshes');
      at = await startAuthReplicas({
        providers: ['corp'],
        person: () => person,
        // Of reused refresh tokens it revokes the whole family.
        configuration: { ttl: { AccessToken: () => UPSTREAM_SECONDS } },
        more: {
          outgoingAuth: {
            source: 'inline',
            backends: { a: { type: 'upstream_inject', upstreamInject: { providerName: 'corp' } } },
          },
        },
      });
      client = await registerClient(at);
      for (let user = 0; user < USERS; user += 1) {
        person = `person-${user}`;
        await writeFile(join(folder.path, `${user}`), textIn(await client.tokens(), 'refresh_token'));
      }
    });
    after(async () => {
      await at.stop();
      await folder.remove();
    });

    const runProcess = async (name: string): Promise<RefreshesReport> => {
      const given: RefreshesArguments = {
        folder: folder.path,
        servers: at.replicas.map(({ port }) => `http://127.0.0.1:${port}`),
        clientId: client.id,
        users: USERS,
        rounds: REFRESHES,
        name,
      };
      const program = join(import.meta.dirname, 'concurrent-refreshes-process.ts');
      const child = spawn(process.execPath, [program, JSON.stringify(given)], { stdio: ['ignore', 'pipe', 'inherit'] });
      return JSON.parse(await text(child.stdout)) as RefreshesReport;
    };

    /** Refresh tokens of requests that the provider never looked at. */
    const unanswered: string[] = [];
    const beAwayAtTimes = (): (() => void) => {
      const [provider] = at.providers;
      const timer = setInterval(() => {
        provider?.instead.set('/token', (request) => {
          unanswered.push(provider.asked.at(-1)?.form.get('refresh_token') ?? '');
          request.socket.destroy();
        });
        setTimeout(() => provider?.instead.clear(), AWAY.forMs);
      }, AWAY.everyMs);
      return () => {
        clearInterval(timer);
        provider?.instead.clear();
      };
    };

    test('nobody is signed out here or at the provider, and no refresh token is shown twice to the provider', async (t) => {
      const stay = beAwayAtTimes();
      t.after(stay);
      const reports = await Promise.all(['one', 'two'].map(runProcess));
      stay();
      const logouts = reports.flatMap((report) => report.logouts);
      assert.deepEqual(logouts, []);
      const sum = (of: (report: RefreshesReport) => number): number => reports.reduce((all, each) => all + of(each), 0);
      assert.equal(
        sum(({ refreshes }) => refreshes),
        2 * USERS * REFRESHES,
      );
      assert.equal(
        sum(({ calls }) => calls),
        2 * USERS * REFRESHES,
      );
      assert.ok(sum(({ lostAnswers }) => lostAnswers) > 0);
      const shown = (at.providers[0]?.askedFor('/token') ?? [])
        .filter(({ form }) => form.get('grant_type') === 'refresh_token')
        .map(({ form }) => form.get('refresh_token') ?? '');
      const times = Map.groupBy(shown, (token) => token);
      const lost = Map.groupBy(unanswered, (token) => token);
      const twice = [...times].filter(([token, all]) => all.length - (lost.get(token)?.length ?? 0) > 1);
      assert.deepEqual(twice.length, 0);
      t.diagnostic(
        `${sum(({ refreshes }) => refreshes)} refreshes, ${sum(({ lostAnswers }) => lostAnswers)} answers lost, ` +
          `${times.size} upstream refreshes, ${unanswered.length} of them lost once`,
      );
      assert.ok(times.size >= USERS, `${times.size} refreshes at the provider`);
    });
  },
);
