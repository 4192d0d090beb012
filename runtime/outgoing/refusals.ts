import { type Caller, UNVERIFIED_ISSUER } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import { FetchError } from '../http/index.ts';

/** A strategy at one backend, as errors name it. */
export interface Named {
  readonly backend: string;
  /** As the configuration spells it: `token_exchange`. */
  readonly strategy: string;
}

/** What is known of a failure. */
export interface Why {
  /** For logs. */
  readonly detail?: string | undefined;
  readonly cause?: unknown;
  /** Who issues the credentials is away, silent or broken: it counts for the circuit breaker of the backend. */
  readonly isOutage?: boolean;
}

/** There is no credential, and the user cannot change that. `what` is safe for strangers: the step that has failed. */
export const noCredential = (
  { backend, strategy }: Named,
  what: string,
  { detail, cause, isOutage = false }: Why = {},
): VmcpError =>
  new VmcpError('credential_unavailable', `no credential for backend "${backend}" (${strategy}): ${what}`, {
    ...(detail !== undefined && { detail }),
    ...(cause !== undefined && { cause }),
    isOutage,
  });

/** Whether a request has failed because who issues the credentials is away or silent. */
export const isUnreached = (error: unknown): boolean => error instanceof FetchError && UNREACHED.has(error.reason);

const UNREACHED: ReadonlySet<FetchError['reason']> = new Set(['timeout', 'network_error']);

const HTTP_401 = { detail: 'HTTP 401' };

/**
 * The backend answers 401 to the credential, and there is no other one. For the gateway's own checks that says that the
 * backend is there (docs/health.md "What a status means").
 */
export const credentialRefused = (of: Named, caller: Caller): VmcpError =>
  caller.kind === 'probe'
    ? new VmcpError(
        'backend_unauthenticated',
        `backend "${of.backend}" refuses the credential (${of.strategy})`,
        HTTP_401,
      )
    : noCredential(of, 'the backend refuses the credential', HTTP_401);

/**
 * The user has to sign in at an upstream provider, for the first time or again. The challenge names the provider, so
 * that a client can ask for just that (docs/decisions.md "Errors").
 */
export const loginRequired = ({ backend }: Named, provider: string): VmcpError =>
  new VmcpError('login_required', `backend "${backend}" needs a sign-in at "${provider}"`, {
    challenge: { error: 'insufficient_scope', scope: `upstream:${provider}` },
  });

/**
 * Who gets the caller's own token refuses it, where nobody here has verified it: the runtime that has sent it along
 * learns of it as if it were refused here, so that it gets a new one. Undefined for any other caller, whose token is
 * good here, whatever others say (docs/outgoing-auth-kubernetes.md "Through a proxy").
 */
export const relayedTokenRefused = (
  { backend }: Pick<Named, 'backend'>,
  caller: Caller,
  detail: string,
): VmcpError | undefined =>
  caller.kind === 'user' && caller.issuer === UNVERIFIED_ISSUER
    ? new VmcpError('invalid_token', `backend "${backend}" refuses the token`, { detail })
    : undefined;
