/**
 * Logs, audit and traces: observers wrap each request and each call and never change them. No secret is written.
 * Start at `observers.ts`; for audit at `audit/audit-observer.ts`.
 */

export { changeLog } from './change-log.ts';
export { cutLog, failureLog } from './failure-log.ts';
export { type LeftOut, lineWindows } from './line-windows.ts';
export {
  type Instrument,
  type Labels,
  MAX_READINGS,
  MAX_SERIES,
  MAX_VALUES,
  type Meter,
  OPERATION_SECONDS,
  type Reading,
  STEP_SECONDS,
} from './metrics/meter.ts';
export { createMetrics, type Exposition, type Metrics } from './metrics/registry.ts';
export { createLog, type Log, type LogFields, type LogLevel } from './log.ts';
export type { StateReaders } from './metrics/state-metrics.ts';
export { openTelemetry, type Telemetry, type TelemetrySettings } from './telemetry.ts';
export { type Observers, observersTogether } from './observers.ts';
export { auditMetrics } from './audit/audit-metrics.ts';
export { auditObserver } from './audit/audit-observer.ts';
export type { RecordEvent } from './audit/event.ts';
export { Journal } from './audit/journal.ts';
export { logins } from './audit/logins.ts';
export type { AuditSettings } from './audit/settings.ts';
