/**
 * What any long-lived process needs: the clock as a value, cancellation, byte budgets, caches, batching, the graceful
 * stop. Only `system-clock.ts` touches the real clock; everything else takes a `Clock`. Start at `clock.ts`.
 */

export { ByteBudget, Share } from './byte-budget.ts';
export { type CancelSignal, Cancellation, untilAborted } from './cancellation.ts';
export { type Clock, type Timer, abortAfter, atMost, backoffMs, jittered, sleep } from './clock.ts';
export { debounce } from './debounce.ts';
export type { TextSource } from './flag-values.ts';
export { type Command, type ExplainCommand, type RevokeUserCommand, USAGE, readCommand } from './flags.ts';
export { STOP_TIMES, type StopTimes, gracefulStop } from './graceful-stop.ts';
export { type LruCache, type LruBounds, lruCache } from './lru-cache.ts';
export { type ReadSecret, type SecretSource, secretReader } from './read-secret.ts';
export { eachOf, nextTurn, runInBatch } from './run-in-batch.ts';
export { type SyncTimeout, syncTimeout } from './sync-timeout.ts';
export { seal, SEAL_BYTES, unseal } from './sealed.ts';
export type { DrawCommand, RunCommand, RunTarget, ServerTarget } from './workflow-flags.ts';
export { steadyClock, systemClock } from './system-clock.ts';
