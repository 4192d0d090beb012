import { type Call, type Caller, type CallRecord, weightierOutcome } from '../call/index.ts';
import { type Fetch, type NoteOutcome, type Strategy, relayed } from '../outgoing/index.ts';
import type { BackendDeps, BackendSettings } from './backend-settings.ts';
import type { CircuitBreaker } from './discovery/circuit-breaker.ts';
import { bundleOf } from './http/ca-bundle.ts';
import { type Connection, openConnection } from './http/connection.ts';
import { type AddForwarded, forwardedHeaders } from './http/forwarded-headers.ts';

/** The caller of the gateway's own list requests and health checks. */
export const PROBE: Caller = { kind: 'probe' };

export interface BackendClientDeps extends Omit<BackendDeps, 'events' | 'listeningUsers'> {
  readonly circuit: Pick<CircuitBreaker, 'isClosed' | 'refusal'>;
}

/** The HTTP client of one backend; every request carries the caller's credential. */
export class BackendClient {
  readonly #connection: Connection;
  readonly #strategy: Strategy;
  /** As the configuration spells it. */
  readonly #strategyType: string;
  readonly #addForwarded: AddForwarded | undefined;
  /** Sends a request that has its credential. */
  readonly #send: Fetch;
  #closing: Promise<void> | undefined;
  readonly #currentCaller: BackendDeps['currentCaller'];

  constructor(settings: BackendSettings, deps: BackendClientDeps) {
    const { origin } = new URL(settings.url);
    this.#strategyType = settings.strategy.type;
    this.#strategy = deps.connectStrategy(settings.strategy, { name: settings.name, origin });
    const { limits } = deps;
    const answers = deps.answers.part(() => limits.responseBytesTogether);
    const connection = openConnection(origin, limits, { ...deps, answers, caBundle: bundleOf(settings, deps) });
    const fetch = withoutNewStreams(connection.fetch, deps.circuit);
    this.#connection = connection;
    this.#send = settings.relaysCredentials === true ? (request) => fetch(relayed(request)) : fetch;
    this.#addForwarded = forwardedHeaders(settings, deps);
    this.#currentCaller = deps.currentCaller;
  }

  /** Whether the backend's lists may differ by user. */
  get dependsOnCaller(): boolean {
    return this.#strategy.dependsOnCaller;
  }

  /** The gateway's own requests. */
  readonly probe: Fetch = (request) => this.#fetchAs(() => PROBE)({ ...request, lane: 'control' });

  /** Sends as the caller, with the token that is valid at the time of sending. */
  fetchFor(caller: Caller, note?: NoteOutcome): Fetch {
    return this.#fetchAs(() => this.#currentCaller(caller), note);
  }

  /**
   * Sends as the caller, and within the trace of the call. What comes of the credential is noted in the record, where
   * there is one.
   */
  fetchForCall({ caller, trace }: Pick<Call, 'caller' | 'trace'>, record?: CallRecord): Fetch {
    const fetch = this.fetchFor(caller, record && this.#noteIn(record));
    if (!trace) return fetch;
    const { traceparent, tracestate } = trace;
    const added = ['traceparent', traceparent, ...(tracestate === undefined ? [] : ['tracestate', tracestate])];
    return (request) => fetch({ ...request, headers: [...request.headers, ...added] });
  }

  /** Sends as the owner of a session, with the token that the owner has presented last at the time of sending. */
  fetchForOwner(owner: () => Caller): Fetch {
    return this.#fetchAs(() => this.#currentCaller(owner()));
  }

  /** Lets requests that are under way finish. */
  async close(): Promise<void> {
    await Promise.all([this.#connection.close(), this.#closeStrategy()]);
  }

  /** Aborts all requests. */
  async destroy(): Promise<void> {
    await Promise.all([this.#connection.destroy(), this.#closeStrategy()]);
  }

  /** Closes the strategy once, however the backend ends. */
  #closeStrategy(): Promise<void> {
    this.#closing ??= this.#strategy.close();
    return this.#closing;
  }

  #noteIn(record: CallRecord): NoteOutcome {
    return (outcome) => {
      const before = record.credential?.outcome ?? outcome;
      record.credential = { strategy: this.#strategyType, outcome: weightierOutcome(before, outcome) };
    };
  }

  #fetchAs(callerNow: () => Caller, note?: NoteOutcome): Fetch {
    const fetch = this.#strategy.prove?.(callerNow, note)(this.#send) ?? this.#send;
    return this.#addForwarded?.(fetch) ?? fetch;
  }
}

/** Streams begin by themselves, again and again; while the circuit is not closed they do not. */
const withoutNewStreams =
  (fetch: Fetch, circuit: BackendClientDeps['circuit']): Fetch =>
  (request) =>
    request.lane === 'stream' && !circuit.isClosed ? Promise.reject(circuit.refusal()) : fetch(request);
