import { buildConnector, Pool, type Dispatcher } from 'undici';
import { checkedLookup, type Resolve } from './addresses.ts';
import { bundleConnector, type BundleFile } from './ca-bundle-connector.ts';
import type { Clock } from '../process/index.ts';
import { asFetchError, FetchError } from './fetch-error.ts';
import { addressRefusal, urlRefusal, type FetchPolicy } from './fetch-policy.ts';
import { NO_PIPELINING, WholeBody } from './whole-body.ts';

/** One request to a URL that comes from outside. */
export interface FetchRequest {
  /** Absolute. A fragment is not sent. */
  readonly url: string;
  /** Default GET. */
  readonly method?: 'GET' | 'POST';
  /** Names in lower case. `host` is refused. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined;
}

/** A whole response. */
export interface FetchResponse {
  /** 200 to 299, 304, or 400 and above. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

/**
 * One HTTP exchange, whole. Rejects with a `FetchError`, or with the reason of the signal that aborted it. Redirects
 * are refused rather than returned: their target was not checked, and callers that only read the body would take the
 * redirect for an answer. No request is repeated.
 */
export type GuardedFetch = (request: FetchRequest) => Promise<FetchResponse>;

/** Connections under one policy. */
export interface GuardedClient {
  readonly fetch: GuardedFetch;
  /** Aborts all requests with reason `closed`, and closes the sockets. Later requests are refused. */
  readonly close: () => Promise<void>;
}

export interface GuardedFetchDeps {
  readonly clock: Pick<Clock, 'after'>;
  /** Authorities that certificates are verified against; default: those of the system. */
  readonly caBundle?: BundleFile | undefined;
  /** Default: the system's resolver (`dns.lookup`). */
  readonly resolve?: Resolve | undefined;
}

/**
 * The HTTP client for everything that is no backend (docs/decisions.md "Addresses that may be fetched"). An address is
 * checked when a connection to it is made, and that very address is used. Opens no connection before the first request;
 * connections are kept alive and shared by all requests to one origin.
 */
export const guardedFetch = (policy: FetchPolicy, deps: GuardedFetchDeps): GuardedClient => {
  const pools = new OriginPools(policy, (origin) => connectorOf(origin, policy, deps));
  return {
    fetch: async (request) => {
      request.signal?.throwIfAborted();
      const url = checkedUrl(request.url, policy);
      const pool = pools.poolOf(url.origin);
      return exchange(pool, { ...request, url }, policy, deps.clock);
    },
    close: () => pools.close(),
  };
};

const checkedUrl = (text: string, policy: FetchPolicy): URL => {
  const url = URL.parse(text);
  if (!url) throw new FetchError('invalid_url');
  const refusal = urlRefusal(policy, url);
  if (refusal) throw new FetchError(refusal, refusal === 'invalid_url' ? undefined : url.origin);
  return url;
};

const connectorOf = (origin: string, policy: FetchPolicy, deps: GuardedFetchDeps): buildConnector.connector => {
  const { protocol } = new URL(origin);
  const lookup = checkedLookup((address) => {
    const refusal = addressRefusal(policy, protocol, address);
    return refusal && new FetchError(refusal, origin);
  }, deps.resolve);
  const how = { lookup, timeout: policy.timeoutMs, allowH2: false };
  if (protocol !== 'https:' || !deps.caBundle) return buildConnector(how);
  return bundleConnector(how, deps.caBundle, (what) => new FetchError('ca_bundle_unusable', origin, what));
};

/** Connection pools of the most recently used origins, as many as the policy allows. */
class OriginPools {
  readonly #policy: FetchPolicy;
  readonly #connectorOf: (origin: string) => buildConnector.connector;
  /** Maps keep the order of insertion: the first origin is the least recently used one. */
  readonly #pools = new Map<string, Pool>();
  #isClosed = false;

  constructor(policy: FetchPolicy, connectorOf: (origin: string) => buildConnector.connector) {
    this.#policy = policy;
    this.#connectorOf = connectorOf;
  }

  /** The pool of an origin. Throws FetchError where there is no room for one more request. */
  poolOf(origin: string): Pool {
    if (this.#isClosed) throw new FetchError('closed', origin);
    const pool = this.#pools.get(origin) ?? this.#open(origin);
    if (pool.stats.size >= this.#policy.requests) throw new FetchError('busy', origin);
    this.#pools.delete(origin);
    this.#pools.set(origin, pool);
    return pool;
  }

  #open(origin: string): Pool {
    if (this.#pools.size >= this.#policy.origins && !this.#dropIdle()) throw new FetchError('busy', origin);
    return new Pool(origin, {
      connect: this.#connectorOf(origin),
      connections: this.#policy.connections,
      pipelining: NO_PIPELINING,
      maxHeaderSize: this.#policy.maxHeadBytes,
      // The policy's timeout covers the whole exchange.
      headersTimeout: 0,
      bodyTimeout: 0,
      allowH2: false,
    });
  }

  #dropIdle(): boolean {
    for (const [origin, pool] of this.#pools) {
      if (pool.stats.size > 0) continue;
      this.#pools.delete(origin);
      void pool.close();
      return true;
    }
    return false;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const all = [...this.#pools];
    this.#pools.clear();
    await Promise.allSettled(all.map(([origin, pool]) => pool.destroy(new FetchError('closed', origin))));
  }
}

type CheckedRequest = Omit<FetchRequest, 'url'> & { readonly url: URL };

const exchange = (
  pool: Pool,
  { url, method = 'GET', headers = {}, body, signal }: CheckedRequest,
  policy: FetchPolicy,
  clock: Pick<Clock, 'after'>,
): Promise<FetchResponse> =>
  new Promise((resolve, reject) => {
    // A certificate is verified for the name in Host where there is one (undici), which would not be the name that was
    // checked.
    if (Object.keys(headers).some((name) => name.toLowerCase() === 'host'))
      return reject(new FetchError('invalid_request', url.origin));
    const settled = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', giveUp);
    };
    const answer = new Answer(url.origin, policy, {
      resolve: (response) => (settled(), resolve(response)),
      reject: (error) => (settled(), reject(error)),
    });
    const timer = clock.after(policy.timeoutMs, () => answer.abandon(new FetchError('timeout', url.origin)));
    const giveUp = (): void => answer.abandon(signal?.reason);
    signal?.addEventListener('abort', giveUp, { once: true });
    pool.dispatch(
      {
        method,
        path: url.pathname + url.search,
        // Bodies are read as they come (RFC 9110 §12.5.3).
        headers: { 'accept-encoding': 'identity', ...headers },
        body: body ?? null,
      },
      answer,
    );
  });

interface Waiting {
  readonly resolve: (response: FetchResponse) => void;
  readonly reject: (error: unknown) => void;
}

/** The answer to one request, as it arrives. */
class Answer implements Dispatcher.DispatchHandler {
  readonly #origin: string;
  readonly #policy: FetchPolicy;
  readonly #waiting: Waiting;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: FetchResponse['headers'] = {};
  readonly #body = new WholeBody();
  #isSettled = false;

  constructor(origin: string, policy: FetchPolicy, waiting: Waiting) {
    this.#origin = origin;
    this.#policy = policy;
    this.#waiting = waiting;
  }

  /** Also works before the request has a connection: then the request is never sent. */
  abandon(reason: unknown): void {
    this.#fail(reason);
    this.#controller?.abort(new Error('abandoned'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isSettled) controller.abort(new Error('abandoned'));
  }

  onResponseStart(_controller: unknown, status: number, headers: FetchResponse['headers']): void {
    // An informational response is followed by the final one.
    this.#status = status;
    this.#headers = headers;
    // RFC 9110 §15.4: of the 3xx statuses, only 304 is no redirect.
    if (status < 400 && status >= 300 && status !== 304) return this.#refuse('redirected');
    if (Number(headers['content-length'] ?? 0) > this.#policy.maxBodyBytes) this.#refuse('body_too_large');
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    if (this.#isSettled) return;
    if (this.#body.length + chunk.length > this.#policy.maxBodyBytes) return this.#refuse('body_too_large');
    const announced = this.#headers['content-length'];
    this.#body.append(chunk, typeof announced === 'string' ? announced : undefined);
  }

  onResponseEnd(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#waiting.resolve({ status: this.#status, headers: this.#headers, body: this.#body.take() });
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#fail(asFetchError(error, this.#origin));
  }

  #refuse(reason: 'redirected' | 'body_too_large'): void {
    this.abandon(new FetchError(reason, this.#origin));
  }

  #fail(error: unknown): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#body.drop();
    this.#waiting.reject(error);
  }
}
