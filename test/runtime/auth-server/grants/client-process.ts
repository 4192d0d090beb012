import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { postLosingAnswers } from '../post-losing-answers.ts';

/**
 * One of several processes of the same clients, as command line tools are: they share a folder with the refresh token
 * of each user, read it, refresh, and write what they got, without a lock. Some answers they never read.
 */
export interface ClientArguments {
  readonly folder: string;
  readonly servers: readonly string[];
  readonly users: number;
  readonly refreshes: number;
  /** Tells the files of this process from those of the others. */
  readonly name: string;
}

/** Written as one line of JSON at the end. */
export interface ClientReport {
  readonly refreshes: number;
  readonly lostAnswers: number;
  readonly failures: number;
  /** What users were told who would have to sign in again. */
  readonly logouts: readonly string[];
}

const { folder, servers, users, refreshes, name } = JSON.parse(process.argv[2] ?? '') as ClientArguments;
const report = { refreshes: 0, lostAnswers: 0, failures: 0, logouts: [] as string[] };

const send = (token: string, isAnswerLost: boolean): ReturnType<typeof postLosingAnswers> => {
  const server = servers[Math.floor(Math.random() * servers.length)] ?? '';
  const form = new URLSearchParams({ grant_type: 'refresh_token', client_id: 'first', refresh_token: token });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return postLosingAnswers(
    { url: `${server}/oauth/token`, headers, body: form.toString(), timeoutMs: 5_000 },
    isAnswerLost,
  );
};

const refreshOnce = async (user: number): Promise<void> => {
  const file = join(folder, `${user}`);
  const token = await readFile(file, 'utf8');
  for (;;) {
    const isAnswerLost = Math.random() < 0.1;
    const answer = await send(token, isAnswerLost);
    if (answer?.status === 200) {
      const { refresh_token: next } = JSON.parse(answer.text) as { readonly refresh_token: string };
      await writeFile(`${file}.${name}`, next);
      await rename(`${file}.${name}`, file);
      report.refreshes += 1;
      return;
    }
    if (answer?.status === 400) {
      report.logouts.push(answer.text);
      return;
    }
    if (isAnswerLost) report.lostAnswers += 1;
    else report.failures += 1;
    await pause(20 + Math.random() * 30);
  }
};

await Promise.all(
  Array.from({ length: users }, async (_, user) => {
    for (let time = 0; time < refreshes; time += 1) await refreshOnce(user);
  }),
);
process.stdout.write(`${JSON.stringify(report)}\n`);
