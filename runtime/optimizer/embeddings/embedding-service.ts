import type { Log } from '../../observe/index.ts';
import { backoffMs, type Clock } from '../../process/index.ts';
import {
  connectEmbeddings,
  type ConnectedService,
  type EmbeddingClientDeps,
  type EmbeddingServiceSettings,
} from './embedding-client.ts';
import { EmbeddingError } from './embedding-error.ts';
import { isSameModel, modelKeyOf } from './model-probe.ts';

export interface EmbeddingServiceDeps extends EmbeddingClientDeps {
  readonly clock: Pick<Clock, 'now'>;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** The vector of the probe by which all replicas know this model; the given one where they know none like it. */
  readonly knownProbe: (modelName: string, probe: Float32Array) => Promise<Float32Array>;
  /** Called after each request for vectors; `outcome` is `embedded` or an EmbeddingFailure. */
  readonly onAsked: (asked: { readonly of: Texts; readonly outcome: string; readonly ms: number }) => void;
}

/** What is embedded: a query, which somebody waits for, or tools. */
export type Texts = 'query' | 'tools';

/** Pauses after failures. */
const BACKOFF = { baseMs: 1_000, maxMs: 60_000 };

/** A service that was replaced by one of another model is noticed after this time, if not by a failure. */
const ASK_AGAIN_MS = 5 * 60_000;

/**
 * The embedding service: connected when it is first needed, and anew after each failure, as it may have come back with
 * another model. After a failure nothing is asked for a while.
 */
export class EmbeddingService {
  readonly #settings: EmbeddingServiceSettings;
  readonly #deps: EmbeddingServiceDeps;
  #connected: { readonly service: ConnectedService; readonly at: number } | undefined;
  #connecting: Promise<ConnectedService> | undefined;
  /** Of the last connection that there was. */
  #model: Pick<ConnectedService, 'modelName' | 'modelKey' | 'probe'> | undefined;
  /** Since vectors were last given. */
  #failures = 0;
  #isFailingAtTools = false;
  #restUntil = 0;
  #last: EmbeddingError | undefined;

  constructor(settings: EmbeddingServiceSettings, deps: EmbeddingServiceDeps) {
    this.#settings = settings;
    this.#deps = deps;
  }

  /** The service as it was last, without asking it. */
  get connected(): ConnectedService | undefined {
    return this.#connected?.service;
  }

  /** Milliseconds until the service may be asked again; 0: now. */
  get restMs(): number {
    return Math.max(0, this.#restUntil - this.#deps.clock.now());
  }

  /** Why the service is left alone for a while. */
  get resting(): EmbeddingError | undefined {
    return this.restMs > 0 ? this.#last : undefined;
  }

  /** Throws EmbeddingError, at once while the service is left alone. */
  async connect(): Promise<ConnectedService> {
    if (this.resting) throw this.resting;
    const { now } = this.#deps.clock;
    if (this.#connected && now() - this.#connected.at < ASK_AGAIN_MS) return this.#connected.service;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** Vectors of texts, in their order. Throws EmbeddingError. */
  async embed(service: ConnectedService, texts: readonly string[], of: Texts): Promise<readonly Float32Array[]> {
    const { steadyNow, onAsked } = this.#deps;
    const from = steadyNow();
    let outcome = 'embedded';
    try {
      const vectors = await service.embed(texts);
      this.#succeeded(of);
      return vectors;
    } catch (error) {
      outcome = error instanceof EmbeddingError ? error.reason : 'failed';
      // Other texts may be taken.
      if (!(error instanceof EmbeddingError) || !error.isOfTexts) this.#failed(error, of);
      throw error;
    } finally {
      onAsked({ of, outcome, ms: steadyNow() - from });
    }
  }

  async #connect(): Promise<ConnectedService> {
    const { log, clock, knownProbe } = this.#deps;
    try {
      const before = this.#model;
      const made = await connectEmbeddings(this.#settings, this.#deps);
      const { modelName, probe } = made;
      const isSame = before?.modelName === modelName && isSameModel(before.probe, probe);
      const modelKey = isSame ? before.modelKey : modelKeyOf(modelName, await knownProbe(modelName, probe));
      const service = { ...made, modelKey };
      this.#model = service;
      this.#connected = { service, at: clock.now() };
      const { protocol, model, dimension } = service;
      if (!isSame) log.info({ protocol, model, dimension }, 'embedding service connected');
      return service;
    } catch (error) {
      this.#failed(error);
      throw error;
    }
  }

  /** A short text, as a query or the one of a new connection, says nothing of a service that fails at batches. */
  #succeeded(of: Texts): void {
    if (of === 'tools') this.#isFailingAtTools = false;
    if (!this.#isFailingAtTools) this.#failures = 0;
  }

  #failed(error: unknown, of?: Texts): void {
    if (!(error instanceof EmbeddingError)) return;
    if (of === 'tools') this.#isFailingAtTools = true;
    const { clock, random, log } = this.#deps;
    this.#connected = undefined;
    this.#last = error;
    this.#failures += 1;
    this.#restUntil = clock.now() + backoffMs(this.#failures, BACKOFF, random);
    if (this.#failures === 1)
      log.warn(
        { reason: error.reason, detail: error.message },
        'embedding service cannot be used: keyword search only',
      );
  }
}
