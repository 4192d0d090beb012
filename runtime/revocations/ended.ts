/** What was open for a user, and has ended. */
export interface Ended {
  readonly sessions: number;
  readonly streams: number;
  readonly calls: number;
}

export const NOTHING: Ended = { sessions: 0, streams: 0, calls: 0 };

export const sumOf = (all: readonly Ended[]): Ended =>
  all.reduce(
    (sum, { sessions, streams, calls }) => ({
      sessions: sum.sessions + sessions,
      streams: sum.streams + streams,
      calls: sum.calls + calls,
    }),
    NOTHING,
  );
