/**
 * Logs, audit and traces: observers wrap each request and each call and never change them. No secret is written.
 * Start at `observers.ts`.
 */

export { changeLog } from './change-log.ts';
export { cutLog, failureLog } from './failure-log.ts';
export { createLog, type Log, type LogFields, type LogLevel } from './log.ts';
export { type Observers, observersTogether } from './observers.ts';
