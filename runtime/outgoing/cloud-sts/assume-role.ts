import type { VmcpError } from '../../errors.ts';
import type { Obtained } from '../credential-cache.ts';
import { isUnreached, type Named, noCredential, type Why } from '../refusals.ts';
import type { StrategyDeps } from '../strategy.ts';
import { endpointOf } from './endpoint.ts';
import { readStsAnswer, type RoleCredential } from './role-credential.ts';

export interface RoleRequest {
  readonly roleArn: string;
  readonly sessionName: string;
  /** JWT or access token of the user. */
  readonly webIdentityToken: string;
  /** The error for a token that the service takes for expired; undefined: as for any other refusal. */
  readonly expired?: () => VmcpError | undefined;
}

export type AssumeRoleDeps = Pick<StrategyDeps, 'fetch' | 'clock' | 'measures'> & { readonly of: Named };

export type AssumeRole = (request: RoleRequest, signal: AbortSignal) => Promise<Obtained<RoleCredential>>;

type Outcome = Parameters<StrategyDeps['measures']['obtained']>[0];

/** The web identity token has ended. */
const EXPIRED_TOKEN = 'ExpiredTokenException';

/**
 * Exchanges a web identity token for credentials of a role. The request is not signed: the token is the proof (AWS STS
 * API Reference, "AssumeRoleWithWebIdentity"). Throws VmcpError; what the service wrote is in none but its code.
 */
export const assumeRoleAt =
  (
    { region, durationSeconds }: { readonly region: string; readonly durationSeconds: number },
    { fetch, clock, measures, of }: AssumeRoleDeps,
  ): AssumeRole =>
  async ({ roleArn, sessionName, webIdentityToken, expired }, signal) => {
    const askedAt = clock.now();
    const measure = (outcome: Outcome): void => measures.obtained(outcome, (clock.now() - askedAt) / 1_000);
    const refuse = (outcome: Outcome, what: string, why: Why): VmcpError => {
      measure(outcome);
      return noCredential(of, what, why);
    };
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
      throw refuse('failed', 'the security token service cannot be asked', { cause, isOutage: isUnreached(cause) });
    });
    const answer = readStsAnswer(status, body);
    const isOutage = status >= 500;
    const ended = answer.kind === 'refused' && answer.code === EXPIRED_TOKEN ? expired?.() : undefined;
    if (ended) {
      measure('refused');
      throw ended;
    }
    if (answer.kind === 'refused')
      throw refuse(isOutage ? 'failed' : 'refused', 'the security token service refuses the role', {
        detail: `${answer.code} for ${roleArn}`,
        isOutage,
      });
    if (answer.kind === 'unusable')
      throw refuse(isOutage ? 'failed' : 'invalid', 'the answer of the security token service cannot be used', {
        detail: `HTTP ${status}: ${answer.what}`,
        isOutage,
      });
    if (answer.expiresAt <= clock.now())
      throw refuse('invalid', 'the credentials of the security token service have ended already', {
        detail: `expiry ${new Date(answer.expiresAt).toISOString()}`,
      });
    measure('obtained');
    return { value: answer.credential, expiresAt: answer.expiresAt };
  };
