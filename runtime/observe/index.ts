export { createLog, type Log, type LogLevel } from './log.ts';
export { noAudit } from './audit.ts';
export { noTrace } from './trace.ts';
