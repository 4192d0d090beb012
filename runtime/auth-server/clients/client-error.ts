/**
 * A client that cannot be had. Its members are those by which oidc-provider answers an error (`lib/helpers/errors.js`):
 * the endpoints answer with the status, the code and the description; nothing is sent to a redirect URI, since none is
 * known to be the client's.
 */
export class ClientError extends Error {
  override readonly name = 'ClientError';
  readonly error: 'invalid_client' | 'temporarily_unavailable';
  /** For the client's author; holds nothing of what was fetched, and no address. */
  readonly error_description: string;
  readonly statusCode: 401 | 503;
  readonly expose = true;
  readonly allow_redirect = false;
  /** For the header Retry-After of a 503. */
  readonly retryAfterSeconds: number | undefined;

  constructor(statusCode: 401 | 503, description: string, retryAfterSeconds?: number) {
    const error = statusCode === 503 ? 'temporarily_unavailable' : 'invalid_client';
    super(error);
    this.error = error;
    this.error_description = description;
    this.statusCode = statusCode;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
