import type { ServerResponse } from 'node:http';
import type { Share } from '../byte-budget.ts';
import type { Clock } from '../clock.ts';

export interface SlowClientBounds {
  /** A client that takes nothing of what waits for it so long (at most twice) is cut. */
  readonly stallMs: number;
  /** One that has been taking it for longer is cut where there is no room for others. */
  readonly answerYieldsMs: number;
}

/** What waits for the client, and what it holds. */
export interface SlowClient {
  readonly response: ServerResponse;
  readonly room: Share;
  readonly clock: Clock;
  readonly bounds: SlowClientBounds;
  /** Told why it is cut off. */
  readonly onCut: (reason: string) => void;
}

/** Cuts the client off when nothing moves on its connection (bytes that it takes of one long write do), or when others need the room. */
export const hurry = ({ response, room, clock, bounds, onCut }: SlowClient): void => {
  const cutBecause = (reason: string) => (): void => {
    if (!response.destroyed) onCut(reason);
    response.destroy();
  };
  const due = clock.now() + bounds.answerYieldsMs;
  room.mayGiveWay({ isDue: () => clock.now() >= due, cut: cutBecause('others need the room that its answer takes') });
  if (response.listenerCount('timeout') === 0)
    response.setTimeout(bounds.stallMs, cutBecause('it takes nothing of its answer'));
};
