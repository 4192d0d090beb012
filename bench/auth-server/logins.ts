import { once } from 'node:events';
import { runAsTold, type Seen, seenSince } from '../loader-process.ts';
import { openPlace } from './sign-in.ts';

/** People who sign in, so many at a time. */
export interface Logins {
  readonly url: string;
  readonly atOnce: number;
}

/** The first message of its parent is `Logins`; then it signs in as many new users as it is told. */
const [{ url, atOnce }] = (await once(process, 'message')) as [Logins];
const place = await openPlace(new URL(url).origin, atOnce);
let users = 0;

const signIn = async (count: number): Promise<Seen> => {
  const latencies: number[] = [];
  const start = performance.now();
  const last = users + count;
  const person = async (): Promise<void> => {
    while (users < last) {
      const begunAt = performance.now();
      await place.login((users += 1));
      latencies.push(performance.now() - begunAt);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, person));
  return seenSince(start, latencies);
};

runAsTold(signIn);
