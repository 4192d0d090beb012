/** `Status` of the API server, as far as it is read here. */
interface Status {
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly { readonly reason?: string }[];
  };
}

/** An answer of the API server that is not a success. `message` is the server's own words, fit for a condition. */
export class ApiError extends Error {
  /** HTTP status. */
  readonly status: number;
  /** CamelCase word of the server (`Invalid`, `Forbidden`, `AlreadyExists`); `Unknown` where it gave none. */
  readonly reason: string;
  /** How long the server asked us to stay away. */
  readonly retryAfterMs: number | undefined;
  /** CamelCase words of the rules that the object breaks (`FieldValueTooLong`). */
  readonly causes: readonly string[];

  constructor(status: number, body: Status, retryAfterMs?: number) {
    super(body.message ?? `the API server answered ${status}`);
    this.name = 'ApiError';
    this.status = status;
    this.reason = body.reason ?? 'Unknown';
    this.retryAfterMs = retryAfterMs;
    this.causes = (body.details?.causes ?? []).flatMap(({ reason }) => reason ?? []);
  }
}

/**
 * The server answered others in the time in which it said nothing to this request: it may never do so, and may still be
 * at work on it.
 */
export class UnansweredError extends Error {
  override readonly name = 'UnansweredError';
}

/**
 * Reads the `Status` out of an error's body; a body of another form (a proxy's HTML) is named by its status code only.
 */
export const apiErrorOf = (status: number, text: string, retryAfter: string | undefined): ApiError => {
  const body = statusIn(text);
  const seconds = Number(retryAfter ?? body.details?.retryAfterSeconds);
  return new ApiError(status, body, Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined);
};

const statusIn = (text: string): Status => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
};

const hasStatus = (error: unknown, ...statuses: readonly number[]): error is ApiError =>
  error instanceof ApiError && statuses.includes(error.status);

/** The server will not take this object however often it is sent: a user's mistake, not a fault. */
export const isRefusal = (error: unknown): error is ApiError => hasStatus(error, 400, 403, 422) || isTooLarge(error);

/**
 * The server cannot read the object, or it breaks a rule of its type. A webhook that denies without a code of its own
 * is answered with 400, too, but without that reason: its policy may change by itself.
 */
export const isMalformed = (error: unknown): error is ApiError =>
  hasStatus(error, 422) || (hasStatus(error, 400) && error.reason === 'BadRequest');

/**
 * The object is more than the API server or etcd take at once. What etcd refuses the API server answers as an internal
 * error without a reason, so that its words alone tell. They do not include `ResourceExhausted`, which etcd also says
 * while it has no space.
 */
export const isTooLarge = (error: unknown): error is ApiError =>
  hasStatus(error, 413) || (isInternal(error) && TOO_LARGE.test(error.message));

/** etcd; gRPC to etcd; the API server, of what it was sent. */
const TOO_LARGE = /request is too large|message larger than max|request entity too large/i;

/** A value is longer than its type allows; of a ConfigMap all of its values together. */
export const isTooLong = (error: unknown): error is ApiError =>
  hasStatus(error, 422) && error.causes.includes('FieldValueTooLong');

export const isInternal = (error: unknown): error is ApiError => hasStatus(error, 500);

export const isNotFound = (error: unknown): error is ApiError => hasStatus(error, 404);

/** The object changed, or is another one than the one meant (uid precondition). */
export const isConflict = (error: unknown): error is ApiError => hasStatus(error, 409);

/** The resource version asked for is too old; only a new list helps. */
export const isExpired = (error: unknown): error is ApiError => hasStatus(error, 410);
