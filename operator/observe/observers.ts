/*
 * What the operator reports about itself: log, metrics, health. The rooms are given these functions and import no
 * library of metrics; labels hold a few known words each, no names and no addresses. metrics.ts counts what the
 * observers are called with.
 */

/**
 * What came of a reconcile; `refused`: the API server does not take a child or the status, or another one is in its
 * place.
 */
export type ReconcileResult = 'unchanged' | 'written' | 'refused' | 'error';

/** Callbacks for the work of the engine, which the metrics count. */
export interface WorkObserver {
  readonly reconciled: (kind: string, result: ReconcileResult, ms: number) => void;
  /** It is tried again later. */
  readonly failed: (kind: string) => void;
  /** How long a key that was due waited for a worker. */
  readonly waited: (ms: number) => void;
  readonly watchInterrupted: (kind: string) => void;
  readonly leads: (isLeading: boolean) => void;
}

/**
 * Called when an answer of the API server begins, with its status and the milliseconds since the request; undefined: no
 * answer came.
 */
export type CallObserver = (
  call: { readonly verb: string; readonly kind: string },
  status: number | undefined,
  ms: number,
) => void;

/** Called for every change that the webhook has checked. */
export type ReviewObserver = (
  review: { readonly kind: string; readonly operation: string },
  isAllowed: boolean,
) => void;
