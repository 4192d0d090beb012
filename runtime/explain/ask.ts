import * as z from 'zod';
import { type Explanation, explanationSchema, explanationText } from './explanation.ts';

/** What the command asks, of whom, and in which form it prints the answer. */
export interface AskedClient {
  readonly kind: 'tool' | 'prompt' | 'resource';
  readonly name: string;
  readonly token: string | undefined;
  /** JSON text. */
  readonly args: string | undefined;
  /** What `find_tool` would be asked for. */
  readonly query?: string | undefined;
  readonly managementUrl: string;
  readonly managementToken: string | undefined;
  readonly output: 'text' | 'json';
}

export interface Asked {
  /** 0: allowed; 1: refused; 2: there is no explanation. */
  readonly exitCode: 0 | 1 | 2;
  readonly output: string;
}

/** Asks a runtime that is running. */
export const askToExplain = async (asked: AskedClient, fetch: typeof globalThis.fetch): Promise<Asked> => {
  const { managementUrl, managementToken, output } = asked;
  const problem = (text: string): Asked => ({ exitCode: 2, output: `${text}\n` });
  const body = bodyOf(asked);
  if (body === undefined) return problem('--args is not JSON');
  let status: number;
  let answer: unknown;
  try {
    const response = await fetch(new URL('/explain', managementUrl), {
      method: 'POST',
      redirect: 'error',
      headers: {
        'content-type': 'application/json',
        ...(managementToken !== undefined && { authorization: `Bearer ${managementToken}` }),
      },
      body,
    });
    status = response.status;
    answer = await response.json();
  } catch {
    return problem(`no answer of a server at ${managementUrl}; give --management-url`);
  }
  const explained = explanationSchema.safeParse(answer);
  if (status !== 200 || !explained.success) return problem(refusalText(status, answer));
  return { exitCode: explained.data.allowed ? 0 : 1, output: shown(explained.data, output) };
};

const shown = (explanation: Explanation, output: AskedClient['output']): string =>
  output === 'json' ? `${JSON.stringify(explanation, null, 2)}\n` : explanationText(explanation);

/** The arguments go as they were written: numbers and names keep their spelling. */
const bodyOf = ({ kind, name, token, args, query }: AskedClient): string | undefined => {
  const rest = JSON.stringify({ kind, name, token, query });
  if (args === undefined) return rest;
  try {
    JSON.parse(args);
  } catch {
    return undefined;
  }
  return `${rest.slice(0, -1)},"arguments":${args}}`;
};

const refusalSchema = z.object({ error: z.string(), message: z.string().optional() });

const refusalText = (status: number, answer: unknown): string => {
  const { data } = refusalSchema.safeParse(answer);
  if (status === 401)
    return 'the management port asks for a token of the operator: --management-token; docs/explain.md';
  return `the server does not explain: HTTP ${status}${data ? ` ${data.message ?? data.error}` : ''}`;
};
