import { type Meter, OPERATION_SECONDS } from '../../observe/index.ts';
import { IssuerUnreachableError } from './issuer-client.ts';
import type { RefusalReason } from './verdict.ts';

/** What came of the credential of one request. */
export type AttemptResult = 'valid' | 'missing' | 'throttled' | 'issuer_unavailable' | RefusalReason;

/** What an issuer is asked for. */
export type IssuerRequest = 'keys' | 'introspection';

export interface AuthenticationMetrics {
  /** `issuer`: one of the configuration, never what a token says alone. */
  readonly attempted: (result: AttemptResult, issuer?: string) => void;
  /** A token was looked up among those that were checked before. */
  readonly lookedUp: (isKnown: boolean) => void;
  /** Asks an issuer, and measures how long that takes and whether it succeeds. */
  readonly asking: <T>(issuer: string, request: IssuerRequest, ask: () => Promise<T>) => Promise<T>;
}

/** `steadyNow`: milliseconds. */
export const authenticationMetrics = (meter: Meter, steadyNow: () => number): AuthenticationMetrics => {
  const attempts = meter.counter({
    name: 'vmcp.authentication.attempts',
    help: 'Requests by what came of their token.',
    labels: ['vmcp.authentication.result', 'vmcp.issuer'],
  });
  const lookUps = meter.counter({
    name: 'vmcp.authentication.token_cache.requests',
    help: 'Tokens that were looked up among those checked before.',
    labels: ['vmcp.cache.status'],
  });
  const asked = meter.histogram({
    name: 'vmcp.authentication.issuer.request.duration',
    help: 'Time to ask an issuer for its keys, or about a token.',
    unit: 's',
    labels: ['vmcp.issuer', 'vmcp.authentication.request', 'error.type'],
    buckets: OPERATION_SECONDS,
  });
  return {
    attempted: (result, issuer) => attempts({ 'vmcp.authentication.result': result, 'vmcp.issuer': issuer }),
    lookedUp: (isKnown) => lookUps({ 'vmcp.cache.status': isKnown ? 'hit' : 'miss' }),
    asking: async (issuer, request, ask) => {
      const began = steadyNow();
      const note = (error?: string): void =>
        asked((steadyNow() - began) / 1_000, {
          'vmcp.issuer': issuer,
          'vmcp.authentication.request': request,
          'error.type': error,
        });
      try {
        const answer = await ask();
        note();
        return answer;
      } catch (error) {
        // A client that a newer configuration has closed says nothing about the issuer.
        if (!(error instanceof IssuerUnreachableError && error.isClosed)) note('issuer_unavailable');
        throw error;
      }
    },
  };
};

/** Tokens that are known without a check. */
export interface KnownTokens {
  readonly valid: number;
  readonly refused: number;
}

export const showKnownTokens = (meter: Meter, known: () => KnownTokens): void =>
  meter.gauge(
    {
      name: 'vmcp.authentication.token_cache.entries',
      help: 'Tokens that are remembered with the outcome of their check.',
      labels: ['vmcp.authentication.outcome'],
    },
    () => {
      const { valid, refused } = known();
      return [
        [{ 'vmcp.authentication.outcome': 'valid' }, valid],
        [{ 'vmcp.authentication.outcome': 'refused' }, refused],
      ];
    },
  );
