import type { AroundCall, AroundRequest } from '../pipeline.ts';

/** Who sees the requests, and the calls that they make. */
export interface Observers {
  readonly audit: AroundRequest;
  readonly trace: AroundRequest;
  readonly aroundCall: AroundCall;
}

/** Audit and tracing are off: nothing is recorded. */
export const noObservers: Observers = {
  audit: (_record, next) => next(),
  trace: (_record, next) => next(),
  aroundCall: (_call, _record, next) => next(),
};
