export { changeLog } from './change-log.ts';
export { createLog, type Log, type LogLevel } from './log.ts';
export { noAudit } from './audit.ts';
export { noTrace } from './trace.ts';
