/*
 * What the operator tells of itself: log, metrics, health. The rooms are given these functions and import no library of
 * metrics; labels hold a few known words each, no names and no addresses. metrics.ts counts what the observers are
 * told.
 */

/**
 * What came of a reconcile; `refused`: the API server does not take a child or the status, or another one is in its
 * place.
 */
export type ReconcileResult = 'unchanged' | 'written' | 'refused' | 'error';

/** Told of the engine's work, for what counts it. */
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
 * Told when an answer of the API server begins, with its status and the time since it was asked for; undefined: none
 * came.
 */
export type CallObserver = (
  call: { readonly verb: string; readonly kind: string },
  status: number | undefined,
  ms: number,
) => void;

/** Told of every change that the webhook judged. */
export type ReviewObserver = (
  review: { readonly kind: string; readonly operation: string },
  isAllowed: boolean,
) => void;
