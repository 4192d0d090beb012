import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { setTimeout as pause } from 'node:timers/promises';

/** A real client that calls one tool. */
export interface Caller {
  /** Rejects when the call, or what it takes to make it, fails in any way. */
  readonly call: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export type NewCaller = (url: URL, tool: string) => Promise<Caller>;

const MESSAGE = 'under load';

const checked = async (answer: Promise<Readonly<Record<string, unknown>>>): Promise<void> => {
  const { isError, content } = await answer;
  const text = JSON.stringify(content);
  if (isError === true || !text.includes(MESSAGE)) throw new Error(`answered ${text}`);
};

/** 2025-11-25: one session from the first call to the last. */
export const withSession: NewCaller = async (url, name) => {
  const client = new Client({ name: 'old', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(url));
  return {
    call: () => checked(client.callTool({ name, arguments: { message: MESSAGE } })),
    close: () => client.close(),
  };
};

/** 2026-07-28: every call speaks for itself. */
export const withoutSession: NewCaller = async (url, name) => {
  const client = new ModernClient(
    { name: 'new', version: '1.0.0' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  await client.connect(new ModernTransport(url));
  return {
    call: () => checked(client.callTool({ name, arguments: { message: MESSAGE } })),
    close: () => client.close(),
  };
};

/** 2025-11-25: a new session for each call. */
export const newcomer: NewCaller = async (url, name) => ({
  call: async () => {
    const one = await withSession(url, name);
    try {
      await one.call();
    } finally {
      await one.close();
    }
  },
  close: async () => {},
});

export interface Load {
  /** Calls answered so far. */
  readonly answered: () => number;
  /** What went wrong, with the second in which it did. */
  readonly failures: readonly string[];
  readonly stop: () => Promise<void>;
}

/** Callers side by side, each with a call every `everyMs` at most. */
export const underLoad = (callers: readonly Caller[], everyMs = 20): Load => {
  const beganAt = performance.now();
  const failures: string[] = [];
  const end = new AbortController();
  let answered = 0;
  const keepCalling = async (caller: Caller, index: number): Promise<void> => {
    while (!end.signal.aborted) {
      try {
        await caller.call();
        answered += 1;
      } catch (error) {
        const second = ((performance.now() - beganAt) / 1000).toFixed(1);
        failures.push(`caller ${index} after ${second} s: ${reasonOf(error)}`);
      }
      await pause(everyMs);
    }
  };
  const calling = callers.map(keepCalling);
  return {
    answered: () => answered,
    failures,
    stop: async () => {
      end.abort();
      await Promise.all(calling);
    },
  };
};

/** fetch tells the reason in its cause. */
const reasonOf = (error: unknown): string =>
  error instanceof Error && error.cause !== undefined ? `${error.message}: ${reasonOf(error.cause)}` : String(error);
