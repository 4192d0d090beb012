import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { postLosingAnswers } from './post-losing-answers.ts';

/**
 * One of several processes of the same clients: they share a folder with the refresh token of each user, read it,
 * refresh, write what they got, without a lock, and call a tool. Some answers they never read.
 */
export interface RefreshesArguments {
  readonly folder: string;
  readonly servers: readonly string[];
  readonly clientId: string;
  readonly users: number;
  readonly rounds: number;
  /** Tells the files of this process from those of the others. */
  readonly name: string;
}

/** Written as one line of JSON at the end. */
export interface RefreshesReport {
  readonly refreshes: number;
  readonly calls: number;
  readonly lostAnswers: number;
  /** What was tried again. */
  readonly failures: number;
  /** What users were told who would have to sign in again, at the gateway or at their provider. */
  readonly logouts: readonly string[];
}

const { folder, servers, clientId, users, rounds, name } = JSON.parse(process.argv[2] ?? '') as RefreshesArguments;
const report = { refreshes: 0, calls: 0, lostAnswers: 0, failures: 0, logouts: [] as string[] };

interface Sent {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const send = ({ path, headers, body }: Sent, isAnswerLost: boolean): ReturnType<typeof postLosingAnswers> => {
  const server = servers[Math.floor(Math.random() * servers.length)] ?? '';
  return postLosingAnswers({ url: `${server}${path}`, headers, body, timeoutMs: 20_000 }, isAnswerLost);
};

/** An access token; undefined: the user would have to sign in again. */
const refreshed = async (user: number): Promise<string | undefined> => {
  const file = join(folder, `${user}`);
  const token = await readFile(file, 'utf8');
  const form = new URLSearchParams({ grant_type: 'refresh_token', client_id: clientId, refresh_token: token });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  for (;;) {
    const isAnswerLost = Math.random() < 0.1;
    const answer = await send({ path: '/oauth/token', headers, body: form.toString() }, isAnswerLost);
    if (answer?.status === 200) {
      const { refresh_token: next, access_token: access } = JSON.parse(answer.text) as Record<string, string>;
      await writeFile(`${file}.${name}`, next ?? '');
      await rename(`${file}.${name}`, file);
      report.refreshes += 1;
      return access;
    }
    if (answer?.status === 400) {
      report.logouts.push(answer.text);
      return undefined;
    }
    if (isAnswerLost) report.lostAnswers += 1;
    else report.failures += 1;
    await pause(20 + Math.random() * 30);
  }
};

const _meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const CALL = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'a_echo', arguments: {}, _meta },
} as const;

const called = async (access: string): Promise<void> => {
  const headers = {
    authorization: `Bearer ${access}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'a_echo',
  };
  for (;;) {
    const answer = await send({ path: '/mcp', headers, body: JSON.stringify(CALL) }, false);
    const { status = 0, text = '' } = answer ?? {};
    if (status === 200 && text.includes('echo {}')) {
      report.calls += 1;
      return;
    }
    if (status === 401 || /login_required|sign in/i.test(text)) {
      report.logouts.push(text);
      return;
    }
    report.failures += 1;
    await pause(50 + Math.random() * 50);
  }
};

const AT_ONCE = 10;

for (let round = 0; round < rounds; round += 1) {
  const waiting = Array.from({ length: users }, (_, user) => user);
  const worker = async (): Promise<void> => {
    for (let user = waiting.pop(); user !== undefined; user = waiting.pop()) {
      const access = await refreshed(user);
      if (access !== undefined) await called(access);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
process.stdout.write(`${JSON.stringify(report)}\n`);
