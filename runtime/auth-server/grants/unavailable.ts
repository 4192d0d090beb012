import { errors } from 'oidc-provider';
import { VmcpError } from '../../errors.ts';

/**
 * The answer while the store, or a secret, cannot be read: RFC 6749 §4.1.2.1 has the word for the authorization
 * endpoint, the token endpoint uses it likewise. Never `invalid_grant`, on which a client forgets its tokens.
 */
export class TemporarilyUnavailable extends errors.OIDCProviderError {
  override readonly expose = true;
  override readonly error_description = 'the service is not available at the moment; try again';

  constructor(cause?: unknown) {
    super(503, 'temporarily_unavailable', { cause });
  }
}

/** The outcome of `work`; faults of the store and of keys become `TemporarilyUnavailable`. */
export const orUnavailable = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    throw isTransient(error) ? new TemporarilyUnavailable(error) : error;
  }
};

const TRANSIENT: ReadonlySet<string> = new Set(['store_unavailable', 'overloaded', 'issuer_unavailable']);

const isTransient = (error: unknown): boolean => error instanceof VmcpError && TRANSIENT.has(error.code);
