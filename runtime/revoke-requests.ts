import * as z from 'zod';
import type { Config } from './config/index.ts';
import { asVmcpError } from './errors.ts';
import type { Log, RecordEvent } from './observe/index.ts';
import type { RevokedUser, UserId, UserRevocation } from './user-revocation.ts';

export interface RevokeRequestsDeps {
  /** Absent: this server has no users whose tokens it could refuse. */
  readonly revocation: Pick<UserRevocation, 'revoke'> | undefined;
  readonly config: () => Pick<Config, 'incomingAuth' | 'extensions'>;
  readonly record?: RecordEvent | undefined;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

interface Answer {
  readonly status: number;
  readonly body: object;
}

const requestSchema = z.strictObject({
  subject: z.string().min(1).max(512),
  issuer: z.string().min(1).max(2_048).optional(),
});

/** Answers `POST /users/revoke` of the management port (docs/users.md). */
export const revokeRequests =
  ({ revocation, config, record, log }: RevokeRequestsDeps) =>
  async (body: Buffer): Promise<Answer> => {
    const request = readRequest(body);
    if (!request) return refused(400, 'invalid_request', 'the body is not {"subject": …, "issuer": …}');
    const issuers = issuersOf(config());
    const issuer = request.issuer ?? issuers[0];
    if (!revocation || issuer === undefined) return refused(409, 'no_tokens', 'this server takes no tokens of users');
    if (!issuers.includes(issuer))
      return refused(400, 'unknown_issuer', `this server takes tokens of ${issuers.join(', ')} only`);
    const user = { issuer, subject: request.subject };
    try {
      const revoked = await revocation.revoke(user);
      log.info({ issuer, ended: revoked.ended, replicas: revoked.replicas }, 'the access of a user was ended');
      await record?.(eventOf(user, revoked));
      return { status: 200, body: answerOf(user, revoked) };
    } catch (thrown) {
      const { code, message } = asVmcpError(thrown);
      log.warn({ err: thrown, issuer }, 'the access of a user was not ended everywhere');
      return refused(code === 'internal' ? 500 : 503, code, `${message}; repeat it until it succeeds`);
    }
  };

const readRequest = (body: Buffer): z.infer<typeof requestSchema> | undefined => {
  try {
    return requestSchema.safeParse(JSON.parse(body.toString())).data;
  } catch {
    return undefined;
  }
};

/** The first one is that of the authorization server, where there is one. */
const issuersOf = ({ incomingAuth: { type, oidc }, extensions }: Pick<Config, 'incomingAuth' | 'extensions'>) =>
  type === 'oidc' && oidc ? [oidc.issuer, ...extensions.issuers.map(({ issuer }) => issuer)] : [];

const answerOf = ({ issuer, subject }: UserId, { atMs, ended, accounts, replicas, isShared }: RevokedUser) => ({
  issuer,
  subject,
  at: new Date(atMs).toISOString(),
  ended: { ...ended, accounts },
  replicas,
  reaches: isShared ? 'all replicas' : 'this replica',
});

const eventOf = ({ issuer, subject }: UserId, { ended, replicas, accounts }: RevokedUser) => ({
  type: 'user_revoked' as const,
  outcome: 'success' as const,
  about: { issuer, user: subject },
  details: { ...ended, replicas, accounts },
});

const refused = (status: number, error: string, message: string): Answer => ({ status, body: { error, message } });
