import type {
  AroundBackendCall,
  AroundCall,
  AroundRequest,
  AroundStep,
  OnDecided,
  OnOutsideAnswer,
} from '../call/index.ts';

/** Wraps requests, the calls that they make, and what is sent to backends for them. */
export interface Observers {
  readonly audit: AroundRequest;
  readonly trace: AroundRequest;
  readonly aroundCall: AroundCall;
  /** Observes the answers to all other requests: of routes, and refusals by the head of a request. */
  readonly onOutsideAnswer: OnOutsideAnswer;
  readonly aroundBackendCall: AroundBackendCall;
  /** Around each step of a composite tool. */
  readonly aroundStep: AroundStep;
  /** Observes decisions about watches, and about what is open when settings change. */
  readonly onDecided: OnDecided;
}

/** Audit and tracing are off: nothing is recorded. */
const noObservers: Observers = {
  audit: (_record, next) => next(),
  trace: (_record, next) => next(),
  aroundCall: (_call, _record, next) => next(),
  onOutsideAnswer: () => {},
  aroundBackendCall: (call, _target, next) => next(call),
  aroundStep: (call, _step, next) => next(call),
  onDecided: () => {},
};

/**
 * Combines observers around the same requests and calls; the first one is outermost and so includes the time of the
 * others.
 */
export const observersTogether = (all: readonly Partial<Observers>[]): Observers =>
  all.reduceRight<Observers>(
    (inner, { audit, trace, aroundCall, aroundBackendCall, aroundStep, onOutsideAnswer, onDecided }) => ({
      audit: audit ? (record, next) => audit(record, () => inner.audit(record, next)) : inner.audit,
      trace: trace ? (record, next) => trace(record, () => inner.trace(record, next)) : inner.trace,
      aroundCall: aroundCall
        ? (call, record, next) => aroundCall(call, record, () => inner.aroundCall(call, record, next))
        : inner.aroundCall,
      onOutsideAnswer: onOutsideAnswer
        ? oneAfterTheOther(inner.onOutsideAnswer, onOutsideAnswer)
        : inner.onOutsideAnswer,
      aroundBackendCall: aroundBackendCall
        ? (call, target, next) => aroundBackendCall(call, target, (sent) => inner.aroundBackendCall(sent, target, next))
        : inner.aroundBackendCall,
      aroundStep: aroundStep
        ? (call, step, next) => aroundStep(call, step, (of) => inner.aroundStep(of, step, next))
        : inner.aroundStep,
      onDecided: onDecided ? oneAfterTheOther(inner.onDecided, onDecided) : inner.onDecided,
    }),
    noObservers,
  );

const oneAfterTheOther =
  <Seen>(first: See<Seen>, second: See<Seen>): See<Seen> =>
  (seen) => {
    const told = first(seen);
    return told ? told.then(() => second(seen)) : second(seen);
  };

type See<Seen> = (seen: Seen) => void | Promise<void>;
