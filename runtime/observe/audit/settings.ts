import type { QueueBounds } from './event-queue.ts';

/** What is audited, and how it is delivered (docs/audit.md). */
export interface AuditSettings {
  readonly component: string;
  /** Empty: all. */
  readonly eventTypes: readonly string[];
  /** Left out, even where `eventTypes` has them. */
  readonly excludeEventTypes: readonly string[];
  readonly includeRequestData: boolean;
  readonly includeResponseData: boolean;
  /** Of request or response data. */
  readonly maxDataBytes: number;
  readonly detectApplicationErrors: boolean;
  /** Names of members that are secret, beside those that always are. */
  readonly redact: readonly string[];
  readonly mode: 'batch' | 'blocking' | 'blocking-strict';
  readonly delivery: DeliverySettings;
}

/** What needs another queue when it changes. */
export interface DeliverySettings {
  /** Undefined: standard output. */
  readonly logFile: string | undefined;
  readonly bounds: QueueBounds;
}
