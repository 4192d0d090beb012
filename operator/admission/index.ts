/*
 * The validating webhook: the API server asks it before it stores a change or deletes an object that others use. It
 * applies the rules of `validate` and has none of its own, but for what is in use. Before it refuses it looks again at
 * what is stored now. It makes and renews its own certificates.
 * Start with `startAdmission` below, then check-spec.ts and check-deletion.ts.
 */

import { type Clock, sleep } from '../../runtime/process/index.ts';
import type { ApiClient } from '../api/client.ts';
import { withTimeout } from '../engine/timing.ts';
import { referrers } from '../kinds/referrers.ts';
import { errorText } from '../observe/log.ts';
import type { Log } from '../observe/log.ts';
import type { ReviewObserver } from '../observe/observers.ts';
import type { Source } from '../read/source.ts';
import type { ValidateObject } from '../offload/validate.ts';
import type { ReadJson } from '../threads/read-json.ts';
import { checkDeletion } from './check-deletion.ts';
import { checkSpec } from './check-spec.ts';
import type { AdmissionContext } from './context.ts';
import { LIFETIMES, type Lifetimes } from './credentials.ts';
import { keepCredentials } from './keep-credentials.ts';
import { KeyedMutex } from './keyed-mutex.ts';
import { type Review, type Verdict, accepted } from './review.ts';
import { serveAdmission } from './server.ts';

export { GUARDED_KINDS } from './check-deletion.ts';
export type { Lifetimes } from './credentials.ts';

export interface AdmissionOptions {
  readonly port: number;
  /**
   * Name of the ValidatingWebhookConfiguration: it says under which name the API server comes, and gets the bundle to
   * trust.
   */
  readonly configuration: string;
  /** Holds the Secret of the certificates. */
  readonly namespace: string;
  /** Empty: all. Requests about other namespaces are allowed without a check. */
  readonly namespaces: readonly string[];
  /** How long the webhook answers after `stop`, since the API server may still connect. */
  readonly drainMs: number;
  /**
   * PEM of the authorities for client certificates of the API server. Absent: client certificates are not asked for.
   */
  readonly clientCa?: string;
  readonly lifetimes?: Lifetimes;
  /** How often the certificates are looked after. Default 10 s. */
  readonly everyMs?: number;
}

export interface AdmissionDeps {
  readonly api: Pick<ApiClient, 'get' | 'getMetadata' | 'createOwned' | 'replace' | 'apply'>;
  /** Asked for once everything is known. */
  readonly source: () => Source;
  readonly validate: ValidateObject;
  /** Default: in this thread. */
  readonly read?: ReadJson;
  readonly clock: Clock;
  /** Everything is known. */
  readonly isSynced: () => boolean;
  readonly log: Log;
  readonly observe: ReviewObserver;
}

export interface Admission {
  readonly port: number;
  /** A certificate that the API server trusts is served. */
  readonly isReady: () => boolean;
  stop(): Promise<void>;
}

/** The operator's validating webhook. Listens when this resolves; throws when the port is taken. */
export const startAdmission = async (options: AdmissionOptions, deps: AdmissionDeps): Promise<Admission> => {
  const { api, clock, log } = deps;
  const onFailure = (error: unknown): void => log.error({ error: errorText(error) }, 'a change could not be checked');
  const check = checksIn(options, deps);
  const server = await serveAdmission(options.port, {
    checks: { '/validate': check(checkSpec), '/validate-deletion': check(checkDeletion) },
    isReady: deps.isSynced,
    onFailure,
    clock,
    clientCa: options.clientCa,
    ...(deps.read && { read: deps.read }),
  });
  const stopping = new AbortController();
  const state = { isTrusted: false };
  const { configuration, namespace, lifetimes = LIFETIMES, everyMs = 10_000 } = options;
  const kept = keepCredentials(
    { configuration, namespace, lifetimes, everyMs },
    {
      api,
      clock,
      onCertificate: (certified) => {
        server.useCertificate(certified);
        log.info('a new certificate of the webhook is served');
      },
      onTrusted: () => {
        state.isTrusted = true;
      },
      onFailure: (error) =>
        log.error({ error: errorText(error) }, 'the certificates of the webhook cannot be looked after; trying again'),
    },
    stopping.signal,
  );
  return {
    port: server.port,
    isReady: () => state.isTrusted,
    stop: async () => {
      server.drain();
      await sleep(clock, options.drainMs);
      stopping.abort(new Error('the webhook is stopping'));
      await Promise.all([kept, server.stop()]);
    },
  };
};

type Ask = (review: Review, cluster: AdmissionContext) => Promise<Verdict>;

/** Binds a check to its context: look-ups end with the request, or after `ANSWER_MS`. */
const checksIn = ({ namespaces }: AdmissionOptions, { api, source, validate, clock, observe }: AdmissionDeps) => {
  const referrersOf = referrers();
  // Dry runs in a loop must not make the operator read many large objects at once.
  const lookUps = new KeyedMutex();
  return (ask: Ask) => async (review: Review, gone: AbortSignal) => {
    const { kind = '', metadata } = review.object ?? review.oldObject ?? {};
    const namespace = metadata?.namespace ?? '';
    if (namespaces.length > 0 && !namespaces.includes(namespace)) return accepted;
    const work = (signal: AbortSignal): Promise<Verdict> =>
      ask(review, {
        source: source(),
        referrersOf,
        validate: (object, references) => validate(object, references, signal),
        get: (key) => lookUps.run(namespace, signal, () => api.get(key, signal)),
        getMetadata: (key) => lookUps.run(namespace, signal, () => api.getMetadata(key, signal)),
      });
    const verdict = await withTimeout({ clock, ms: ANSWER_MS }, work, gone);
    observe({ kind, operation: review.operation }, verdict.refusal === undefined);
    return verdict;
  };
};

const ANSWER_MS = 4_000;
