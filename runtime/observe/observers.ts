import type { AroundCall, AroundRequest } from '../call/index.ts';

/** Wraps requests, and the calls that they make. */
export interface Observers {
  readonly audit: AroundRequest;
  readonly trace: AroundRequest;
  readonly aroundCall: AroundCall;
}

/** Audit and tracing are off: nothing is recorded. */
const noObservers: Observers = {
  audit: (_record, next) => next(),
  trace: (_record, next) => next(),
  aroundCall: (_call, _record, next) => next(),
};

/**
 * Combines observers around the same requests and calls; the first one is outermost and so includes the time of the
 * others.
 */
export const observersTogether = (all: readonly Partial<Observers>[]): Observers =>
  all.reduceRight<Observers>(
    (inner, { audit, trace, aroundCall }) => ({
      audit: audit ? (record, next) => audit(record, () => inner.audit(record, next)) : inner.audit,
      trace: trace ? (record, next) => trace(record, () => inner.trace(record, next)) : inner.trace,
      aroundCall: aroundCall
        ? (call, record, next) => aroundCall(call, record, () => inner.aroundCall(call, record, next))
        : inner.aroundCall,
    }),
    noObservers,
  );
