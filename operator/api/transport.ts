import { type Dispatcher, errors } from 'undici';
import { apiErrorOf, UnansweredError } from './errors.ts';
import type { Connection } from './kubeconfig.ts';
import { namespaceAt } from './resources.ts';
import type { RateLimit } from './rate-limit.ts';
import type { CallObserver } from '../observe/observers.ts';
import { yamlSafeJson } from './yaml-safe-json.ts';
import { readHere, type ReadJson } from '../threads/read-json.ts';
import type { Clock } from '../../runtime/process/index.ts';

/** What a call does, in the words of RBAC; an apply is distinguished from the other patches. */
export type Verb = 'get' | 'list' | 'watch' | 'apply' | 'create' | 'update' | 'patch' | 'delete';

export interface Call {
  readonly verb: Verb;
  /** Of the objects it is about. */
  readonly kind: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: unknown;
  /** Longest silence of the server, in milliseconds. Default 30 s. */
  readonly timeoutMs?: number;
}

/** Raw JSON over HTTP; every answer that is not a success is thrown as `ApiError`. */
export interface Transport {
  json(call: Call, signal: AbortSignal): Promise<unknown>;
  /** The same, with the characters of its text. */
  sized(call: Call, signal: AbortSignal): Promise<{ readonly value: unknown; readonly characters: number }>;
  /** The body as it arrives; not counted against the rate limit. */
  stream(call: Call, signal: AbortSignal): Promise<AsyncIterable<Buffer>>;
  /** Parses the lines of a stream. */
  readonly read: ReadJson;
}

export interface TransportDeps {
  readonly clock: Clock;
  /** Default: in this thread. */
  readonly read?: ReadJson;
  readonly rateLimit: RateLimit;
  readonly observe?: CallObserver;
}

/**
 * How long a value of `Authorization` is used before it is asked for again; the kubelet rotates tokens long before they
 * end.
 */
const credentialsMs = 60_000;

/** Answers to other requests that show that the server is alive; one may have been under way before. */
const SURELY_ALIVE = 2;

/**
 * Throws `ApiError` for every answer that is no success, `UnansweredError` where the server is alive and one
 * request gets no answer, and what the connection throws. The `Authorization` header is read again once a minute.
 */
export const transport = (connection: Connection, deps: TransportDeps): Transport => {
  const { read = readHere } = deps;
  const authorization = cached(() => connection.authorization(), deps.clock);
  let answers = 0;
  const ask = async (call: Call, signal: AbortSignal): Promise<Dispatcher.ResponseData> => {
    const headers = present({
      accept: call.accept ?? 'application/json',
      authorization: await authorization.get(),
      'content-type': call.body === undefined ? undefined : (call.contentType ?? 'application/json'),
      'user-agent': 'vmcp-operator',
    });
    const askedAt = deps.clock.now();
    const answersBefore = answers;
    const tell = (status?: number): void => deps.observe?.(call, status, deps.clock.now() - askedAt);
    try {
      const response = await connection.dispatcher.request({
        origin: connection.origin,
        path: connection.pathPrefix + call.path,
        method: call.method,
        query: present(call.query ?? {}),
        headers,
        body: call.body === undefined ? null : yamlSafeJson(call.body),
        signal,
        headersTimeout: call.timeoutMs ?? 30_000,
        bodyTimeout: call.timeoutMs ?? 30_000,
      });
      tell(response.statusCode);
      if (response.statusCode < 300 && call.verb !== 'watch') answers += 1;
      return response;
    } catch (error) {
      // The caller has aborted the request: no fault of the server.
      if (!signal.aborted) tell();
      if (error instanceof errors.HeadersTimeoutError && answers - answersBefore >= SURELY_ALIVE)
        throw new UnansweredError('the API server gave no answer while it answered others', { cause: error });
      throw error;
    }
  };
  const send = async (call: Call, signal: AbortSignal): Promise<Dispatcher.ResponseData> => {
    const response = await ask(call, signal);
    if (response.statusCode < 300) {
      return response;
    }
    if (response.statusCode === 401) {
      authorization.forget();
    }
    const retryAfter = response.headers['retry-after'];
    throw apiErrorOf(response.statusCode, await response.body.text(), [retryAfter].flat()[0]);
  };
  const sized: Transport['sized'] = async (call, signal) => {
    // Renewals of the Lease are never delayed.
    if (call.kind !== 'Lease') await deps.rateLimit(signal);
    const text = await (await send(call, signal)).body.text();
    return { characters: text.length, value: await read(text, { tenant: namespaceAt(call.path), signal }) };
  };
  return {
    json: async (call, signal) => (await sized(call, signal)).value,
    sized,
    read,
    stream: async (call, signal) => (await send(call, signal)).body,
  };
};

interface Cached {
  get(): Promise<string | undefined>;
  forget(): void;
}

const cached = (read: () => Promise<string | undefined>, clock: Clock): Cached => {
  let held: { readonly value: Promise<string | undefined>; readonly untilMs: number } | undefined;
  return {
    get: async () => {
      if (held === undefined || held.untilMs <= clock.now()) {
        held = { value: read(), untilMs: clock.now() + credentialsMs };
      }
      try {
        return await held.value;
      } catch (error) {
        held = undefined;
        throw error;
      }
    },
    forget: () => {
      held = undefined;
    },
  };
};

const present = <T>(record: Readonly<Record<string, T | undefined>>): Record<string, T> =>
  Object.fromEntries(Object.entries(record).filter((entry): entry is [string, T & {}] => entry[1] !== undefined));
