import type { Meter, RecordEvent } from '../../observe/index.ts';
import type { RefreshDeps } from '../vault/refreshes.ts';

/** A step that is on record (docs/audit.md "Sign-in and tokens"). */
export type StepType =
  | 'oauth_register'
  | 'oauth_authorize'
  | 'oauth_upstream_login'
  | 'oauth_consent'
  | 'oauth_token'
  | 'oauth_revoke'
  | 'oauth_grant_ended'
  | 'account_linked'
  | 'account_unlinked'
  | 'account_ended';

/** What came of a step, by whom. Texts may be from outside, and are never secrets. */
export interface Step {
  readonly type: StepType;
  readonly outcome: 'success' | 'denied' | 'failure' | 'error';
  /** Absent where no request has caused it. */
  readonly source?: RequestSource | undefined;
  /** `sub` of the tokens that this server issues. */
  readonly user?: string | undefined;
  readonly clientId?: string | undefined;
  /** Name of an identity provider. */
  readonly provider?: string | undefined;
  /** OAuth's word for a failure. */
  readonly error?: string | undefined;
  readonly scope?: string | undefined;
  readonly grantType?: string | undefined;
  readonly reason?: 'revocation' | 'reuse';
}

/** Where a request came from. */
export interface RequestSource {
  /** Address of the client, as far as trusted proxies tell. */
  readonly address: string | undefined;
  readonly userAgent: string | undefined;
  readonly correlationId: () => string;
}

/** Resolves once the step may be answered: in the modes of the audit log that block, when it is written. */
export type RecordStep = (step: Step) => Promise<void>;

export interface StepRecordDeps {
  readonly issuer: string;
  readonly record: RecordEvent;
  readonly meter: Meter;
}

export const stepRecord = ({ issuer, record, meter }: StepRecordDeps): RecordStep => {
  const count = meter.counter({
    name: 'vmcp.auth_server.steps',
    help: 'Steps of logins, token requests and linked accounts, by what came of them.',
    labels: ['vmcp.auth_server.step', 'vmcp.auth_server.outcome', 'vmcp.provider'],
  });
  return async ({ type, outcome, source, user, clientId, provider, grantType, ...details }) => {
    count({ 'vmcp.auth_server.step': type, 'vmcp.auth_server.outcome': outcome, 'vmcp.provider': provider });
    await record({
      type,
      outcome,
      ...(source && { source: { ...source, correlationId: source.correlationId() } }),
      about: { issuer, user, clientId },
      details: { provider, grant_type: grantType, ...details },
    });
  };
};

/** The record of refreshes at identity providers. */
export const refreshRecord = (meter: Meter, record: RecordStep): Required<RefreshDeps>['onRefresh'] => {
  const count = meter.counter({
    name: 'vmcp.auth_server.upstream.refreshes',
    help: 'Refreshes of tokens that identity providers were asked for.',
    labels: ['vmcp.provider', 'vmcp.auth_server.outcome'],
  });
  return ({ user, provider }, came, error) => {
    count({ 'vmcp.provider': provider, 'vmcp.auth_server.outcome': came });
    if (came === 'ended') void record({ type: 'account_ended', outcome: 'success', user, provider, error });
  };
};
