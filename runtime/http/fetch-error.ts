/**
 * What can go wrong with a guarded fetch, each with a text that names neither the URL nor anything sent or received.
 */
const MESSAGES = {
  invalid_url: 'the URL is no absolute http or https URL, or holds user info',
  invalid_request: 'the request cannot be sent: a header is not allowed or malformed',
  https_required: 'the URL needs https',
  address_refused: 'the address must not be fetched from',
  ca_bundle_unusable: 'the CA bundle cannot be used',
  busy: 'too many requests are under way',
  timeout: 'no whole answer came in time',
  network_error: 'no whole answer came',
  redirected: 'the answer is a redirect, which is not followed',
  head_too_large: 'the head of the answer is too large',
  body_too_large: 'the body of the answer is too large',
  closed: 'the client was closed',
} as const satisfies Readonly<Record<string, string>>;

export type FetchFailure = keyof typeof MESSAGES;

/**
 * Why there is no answer. All of it is fit for logs: it has no cause, since the errors of parsers hold bytes of the
 * answer, and of the URL only the origin.
 */
export class FetchError extends Error {
  override readonly name = 'FetchError';
  readonly reason: FetchFailure;
  /** Absent for a URL that has none. */
  readonly origin: string | undefined;
  /**
   * A word of the system, of OpenSSL or of undici (`ECONNREFUSED`, `CERT_HAS_EXPIRED`, `UND_ERR_SOCKET`), or what is
   * wrong with the bundle.
   */
  readonly detail: string | undefined;

  constructor(reason: FetchFailure, origin?: string, detail?: string) {
    super(MESSAGES[reason]);
    this.reason = reason;
    this.origin = origin;
    this.detail = detail;
  }

  /** `detail` and `origin` as one text; empty where neither is known. */
  get where(): string {
    return [this.detail, this.origin].filter((each) => each !== undefined).join(', ');
  }
}

/** The FetchError for an error of undici. */
export const asFetchError = (error: unknown, origin: string): FetchError => {
  if (error instanceof FetchError) return error;
  const code = codeOf(error);
  return new FetchError(reasons[code ?? ''] ?? 'network_error', origin, code);
};

const reasons: Readonly<Record<string, FetchFailure>> = {
  UND_ERR_HEADERS_OVERFLOW: 'head_too_large',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_INVALID_ARG: 'invalid_request',
  UND_ERR_NOT_SUPPORTED: 'invalid_request',
};

/** Codes are constants in capitals; anything else might hold something of the exchange. */
const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && /^[A-Z][A-Z0-9_]*$/.test(String(error.code))
    ? String(error.code)
    : undefined;
