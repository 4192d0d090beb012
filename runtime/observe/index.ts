export { changeLog } from './change-log.ts';
export { cutLog, failureLog } from './failure-log.ts';
export { createLog, type Log, type LogFields, type LogLevel } from './log.ts';
export { type Observers, observersTogether } from './observers.ts';
