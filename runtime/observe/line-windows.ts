/** Of one text, LINES lines per window are logged, then only their number: a backend that is down fails every call. */
const LINES = 10;
const WINDOW_MS = 10_000;
/** Texts that are counted; each names a kind of failure and a backend. */
const MAX_TEXTS = 1_000;

interface Window {
  readonly startedAt: number;
  lines: number;
  unsaid: number;
}

/** How many lines of this text were left out since the last one; undefined where this one is to be left out, too. */
export type LeftOut = (text: string) => number | undefined;

/** Counts lines by text, in windows of 10 s. `now`: milliseconds since the epoch. */
export const lineWindows = (now: () => number): LeftOut => {
  const windows = new Map<string, Window>();
  const windowOf = (text: string): Window => {
    const window = windows.get(text);
    if (window && now() - window.startedAt < WINDOW_MS) return window;
    windows.delete(text);
    const [oldest] = windows.keys();
    if (oldest !== undefined && windows.size >= MAX_TEXTS) windows.delete(oldest);
    // The first line of a window reports the number left out in the previous one.
    const next: Window = { startedAt: now(), lines: 0, unsaid: window?.unsaid ?? 0 };
    windows.set(text, next);
    return next;
  };
  return (text) => {
    const window = windowOf(text);
    window.lines += 1;
    if (window.lines > LINES) {
      window.unsaid += 1;
      return undefined;
    }
    const { unsaid } = window;
    window.unsaid = 0;
    return unsaid;
  };
};
