import { VmcpError } from '../../errors.ts';

interface Why {
  /** For logs. */
  readonly detail?: string;
  readonly cause?: unknown;
  /** The service that issues the credentials is away or broken. */
  readonly isOutage?: boolean;
}

/** Makes the errors of this strategy at one backend; `step` is safe for strangers. */
export type Refuse = (step: string, why?: Why) => VmcpError;

/** There are no credentials, and the user cannot change that. */
export const refusalsOf =
  (backend: string): Refuse =>
  (step, why = {}) =>
    new VmcpError('credential_unavailable', `no credential for backend "${backend}" (cloud_sts): ${step}`, why);

/**
 * The user has to sign in at an upstream provider, for the first time or again. The challenge names the provider, so
 * that a client can ask for just that (docs/decisions.md "Errors").
 */
export const loginRequired = (backend: string, provider: string): VmcpError =>
  new VmcpError('login_required', `backend "${backend}" needs a sign-in at "${provider}"`, {
    challenge: { error: 'insufficient_scope', scope: `upstream:${provider}` },
  });
