import * as z from 'zod';

/** What the command asks, and in which form it prints the answer. */
export interface AskedToRevoke {
  readonly subject: string;
  readonly issuer: string | undefined;
  readonly managementUrl: string;
  readonly managementToken: string | undefined;
  readonly output: 'text' | 'json';
}

export interface Asked {
  /** 0: the access has ended; 2: it has not, or not everywhere. */
  readonly exitCode: 0 | 2;
  readonly output: string;
}

/** Asks a runtime that is running to end the access of a user (docs/users.md). */
export const askToRevoke = async (asked: AskedToRevoke, fetch: typeof globalThis.fetch): Promise<Asked> => {
  const { subject, issuer, managementUrl, managementToken, output } = asked;
  let status: number;
  let answer: unknown;
  try {
    const response = await fetch(new URL('/users/revoke', managementUrl), {
      method: 'POST',
      redirect: 'error',
      headers: {
        'content-type': 'application/json',
        ...(managementToken !== undefined && { authorization: `Bearer ${managementToken}` }),
      },
      body: JSON.stringify({ subject, ...(issuer !== undefined && { issuer }) }),
    });
    status = response.status;
    answer = await response.json();
  } catch {
    return { exitCode: 2, output: `no answer of a server at ${managementUrl}; give --management-url\n` };
  }
  const { data } = revokedSchema.safeParse(answer);
  if (status !== 200 || !data) return { exitCode: 2, output: `${refusalText(status, answer)}\n` };
  return { exitCode: 0, output: output === 'json' ? `${JSON.stringify(answer, null, 2)}\n` : textOf(data) };
};

const revokedSchema = z.object({
  issuer: z.string(),
  subject: z.string(),
  at: z.string(),
  ended: z.object({ sessions: z.int(), streams: z.int(), calls: z.int(), accounts: z.array(z.string()) }),
  replicas: z.int(),
  reaches: z.string(),
});

const textOf = ({ issuer, subject, at, ended, replicas, reaches }: z.infer<typeof revokedSchema>): string =>
  `what ${JSON.stringify(subject)} of ${issuer} was issued until ${at} counts no more at ${reaches}
ended: sessions ${ended.sessions}, streams ${ended.streams}, calls ${ended.calls} (told by replicas: ${replicas})
forgotten: ${ended.accounts.length === 0 ? 'no account at a provider' : `accounts at ${ended.accounts.join(', ')}`}
`;

const refusalSchema = z.object({ error: z.string(), message: z.string().optional() });

const refusalText = (status: number, answer: unknown): string => {
  const { data } = refusalSchema.safeParse(answer);
  if (status === 401) return 'the management port asks for a token of the operator: --management-token; docs/users.md';
  return `the access has not ended: HTTP ${status}${data ? ` ${data.message ?? data.error}` : ''}`;
};
