import type { ServerResponse } from 'node:http';
import type { Share, Clock } from '../process/index.ts';

export interface SlowClientBounds {
  /** A client that reads no byte for this long (at most twice as long) is cut off. */
  readonly stallMs: number;
  /** A client that needs longer than this for its answer is cut off when other answers need the room. */
  readonly answerYieldsMs: number;
}

/** A response that waits for its client, and the budget it holds. */
export interface SlowClient {
  readonly response: ServerResponse;
  readonly share: Share;
  readonly clock: Clock;
  readonly bounds: SlowClientBounds;
  /** Called with the reason when the client is cut off. */
  readonly onCut: (reason: string) => void;
}

/**
 * Cuts the client off when it reads nothing for `stallMs` (part of one long write counts as read), or when others need
 * the room.
 */
export const cutOffWhenSlow = ({ response, share, clock, bounds, onCut }: SlowClient): void => {
  const cutBecause = (reason: string) => (): void => {
    if (!response.destroyed) onCut(reason);
    response.destroy();
  };
  const due = clock.now() + bounds.answerYieldsMs;
  share.mayGiveWay({ isDue: () => clock.now() >= due, cut: cutBecause('others need the room that its answer takes') });
  if (response.listenerCount('timeout') === 0)
    response.setTimeout(bounds.stallMs, cutBecause('it takes nothing of its answer'));
};
