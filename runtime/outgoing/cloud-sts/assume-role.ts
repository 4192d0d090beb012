import type { VmcpError } from '../../errors.ts';
import type { GuardedFetch } from '../../http/index.ts';
import type { Clock } from '../../process/index.ts';
import type { Obtained } from '../credential-cache.ts';
import { endpointOf } from './endpoint.ts';
import type { Refuse } from './refusals.ts';
import { readStsAnswer, type RoleCredential } from './role-credential.ts';

export interface RoleRequest {
  readonly roleArn: string;
  readonly sessionName: string;
  /** JWT or access token of the user. */
  readonly webIdentityToken: string;
  /** The error for a token that the service takes for expired; absent: as for any other refusal. */
  readonly expired?: () => VmcpError;
}

export interface AssumeRoleDeps {
  readonly fetch: GuardedFetch;
  readonly clock: Pick<Clock, 'now'>;
  readonly refuse: Refuse;
}

export type AssumeRole = (request: RoleRequest, signal: AbortSignal) => Promise<Obtained<RoleCredential>>;

/** The web identity token has ended. */
const EXPIRED_TOKEN = 'ExpiredTokenException';

/**
 * Exchanges a web identity token for credentials of a role. The request is not signed: the token is the proof (AWS STS
 * API Reference, "AssumeRoleWithWebIdentity"). Throws VmcpError; what the service wrote is in none but its code.
 */
export const assumeRoleAt =
  (
    { region, durationSeconds }: { readonly region: string; readonly durationSeconds: number },
    { fetch, clock, refuse }: AssumeRoleDeps,
  ): AssumeRole =>
  async ({ roleArn, sessionName, webIdentityToken, expired }, signal) => {
    const form = new URLSearchParams({
      Action: 'AssumeRoleWithWebIdentity',
      Version: '2011-06-15',
      RoleArn: roleArn,
      RoleSessionName: sessionName,
      WebIdentityToken: webIdentityToken,
      DurationSeconds: String(durationSeconds),
    });
    const { status, body } = await fetch({
      url: endpointOf(region),
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
      body: form.toString(),
      signal,
    }).catch((cause: unknown) => {
      signal.throwIfAborted();
      throw refuse('the security token service cannot be asked', { cause });
    });
    const answer = readStsAnswer(status, body);
    const isOutage = status >= 500;
    if (answer.kind === 'refused' && answer.code === EXPIRED_TOKEN && expired) throw expired();
    if (answer.kind === 'refused')
      throw refuse('the security token service refuses the role', {
        detail: `${answer.code} for ${roleArn}`,
        isOutage,
      });
    if (answer.kind === 'unusable')
      throw refuse('the answer of the security token service cannot be used', {
        detail: `HTTP ${status}: ${answer.what}`,
        isOutage,
      });
    if (answer.expiresAt <= clock.now())
      throw refuse('the credentials of the security token service have ended already', {
        detail: `expiry ${new Date(answer.expiresAt).toISOString()}`,
      });
    return { value: answer.credential, expiresAt: answer.expiresAt };
  };
