import { overlays } from '../../../runtime/catalog/index.ts';
import type { Overlay } from '../../../runtime/catalog/live-catalog.ts';
import type { Listing } from '../../../runtime/catalog/overlay.ts';
import { up } from './live-catalog-under-test.ts';

/** Of one backend. */
export const listing = (all: Promise<Overlay>): Listing => ({ all, only: () => all });

export const own = (subject: string): Overlay => [up('b', { tools: [subject] })];

/** Overlays whose listings a test answers, and their time. */
export const remembering = (bounds = { users: 2, count: 2, bytes: 1_000, ttlMs: 60_000 }) => {
  let time = 1_000_000;
  const asked: {
    readonly subject: string;
    readonly names: readonly string[] | undefined;
    readonly answer: PromiseWithResolvers<Overlay>;
  }[] = [];
  const { of: overlayOf, noteChange } = overlays(
    {
      list: (caller, names) => {
        if (caller.kind !== 'user') return undefined;
        const answer = Promise.withResolvers<Overlay>();
        asked.push({ subject: caller.subject, names: names && [...names], answer });
        return listing(answer.promise);
      },
      now: () => time,
    },
    bounds,
  );
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { overlayOf, noteChange, asked, settle, advance: (ms: number) => (time += ms) };
};
