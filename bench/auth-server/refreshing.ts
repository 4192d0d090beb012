import { once } from 'node:events';
import { Pool } from 'undici';
import { runAsTold, type Seen, seenSince } from '../loader-process.ts';
import { addressOf, openPlace } from './sign-in.ts';

/** Clients that each refresh again and again, one request at a time, each with the refresh token that came last. */
export interface Refreshing {
  readonly url: string;
  readonly clients: number;
  /** Of the library alone, which knows this client and gives refresh tokens away. Absent: users sign in. */
  readonly library?: { readonly clientId: string };
}

/** The first message of its parent is `Refreshing`. Then it refreshes for as many milliseconds as it is told. */
const [load] = (await once(process, 'message')) as [Refreshing];
const { origin } = new URL(load.url);
const path = load.library ? '/token' : '/oauth/token';

const given = async (): Promise<{ readonly clientId: string; readonly tokens: string[] }> => {
  if (load.library) {
    const answer = await fetch(`${origin}/tokens?count=${load.clients}`);
    return { ...load.library, tokens: (await answer.json()) as string[] };
  }
  const place = await openPlace(origin, 1);
  const tokens: string[] = [];
  for (let user = 0; user < load.clients; user += 1) tokens.push(await place.login(user));
  await place.close();
  return { clientId: place.clientId, tokens };
};

const { clientId, tokens } = await given();
const pool = new Pool(origin, { connections: load.clients, pipelining: 1 });
const latencies: number[] = [];
/** Further addresses, as one has 12,000 requests a minute. */
let address = load.clients;

const refresh = async (client: number): Promise<void> => {
  const form = { grant_type: 'refresh_token', client_id: clientId, refresh_token: tokens[client] ?? '' };
  const sentAt = performance.now();
  const { statusCode, body } = await pool.request({
    path,
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-forwarded-for': addressOf((address = (address + 1) % 4_096)),
    },
    body: new URLSearchParams(form).toString(),
  });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`${statusCode} ${text}`);
  latencies.push(performance.now() - sentAt);
  tokens[client] = (JSON.parse(text) as { readonly refresh_token: string }).refresh_token;
};

const run = async (milliseconds: number): Promise<Seen> => {
  latencies.length = 0;
  const start = performance.now();
  const client = async (_: unknown, index: number): Promise<void> => {
    do await refresh(index);
    while (performance.now() < start + milliseconds);
  };
  await Promise.all(Array.from({ length: load.clients }, client));
  return seenSince(start, latencies);
};

await run(0);
runAsTold(run);
