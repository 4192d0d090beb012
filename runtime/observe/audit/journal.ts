import type { Clock } from '../../process/index.ts';
import type { AuditEventType } from '../../config/index.ts';
import { lineWindows } from '../line-windows.ts';
import type { Log } from '../log.ts';
import { auditFile, standardOutput } from './destination.ts';
import { type AuditEvent, lineOf } from './event.ts';
import { EventQueue } from './event-queue.ts';
import { type Secrecy, secrecyOfKeys } from './redaction.ts';
import type { AuditSettings, DeliverySettings } from './settings.ts';

export interface JournalDeps {
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn' | 'error'>;
  /** Names this process among replicas, and its starts among each other. */
  readonly replicaId: string;
}

/** Events of this process so far. */
export interface AuditCounts {
  readonly written: number;
  /** Lost, since they waited longer than the buffer lasts. */
  readonly dropped: number;
  /** Attempts to write that failed; their events are tried again. */
  readonly failedWrites: number;
}

/** Settings in force, in the form in which requests need them. */
export interface InForce {
  readonly settings: AuditSettings;
  readonly isWanted: (type: AuditEventType) => boolean;
  readonly secrecyOf: (key: string) => Secrecy;
}

/** Numbers events and hands them to a queue; both can be replaced while requests are under way. */
export class Journal {
  readonly #deps: JournalDeps;
  readonly #unsaid: ReturnType<typeof lineWindows>;
  readonly #counts = { written: 0, dropped: 0, failedWrites: 0 };
  readonly #closing = new Set<Promise<void>>();
  #inForce: InForce | undefined;
  #queue: EventQueue | undefined;
  #sequence = 0;
  /** Dropped events that the log has told of. */
  #droppedSaid = 0;

  constructor(deps: JournalDeps) {
    this.#deps = deps;
    this.#unsaid = lineWindows(deps.clock.now);
  }

  /** Undefined: audit is off. */
  get inForce(): InForce | undefined {
    return this.#inForce;
  }

  get counts(): AuditCounts {
    return { ...this.#counts };
  }

  get waiting(): EventQueue['waiting'] {
    return this.#queue?.waiting ?? NOTHING;
  }

  /** A queue for these settings, for `use`. Opens nothing yet. */
  queueFor({ logFile, bounds }: DeliverySettings): EventQueue {
    const { clock } = this.#deps;
    return new EventQueue(bounds, {
      clock,
      destination: logFile === undefined ? standardOutput(clock) : auditFile(logFile, clock),
      onDropped: () => {
        this.#counts.dropped += 1;
      },
      onWritten: (lines) => this.#wrote(lines),
      onError: (error) => this.#failed(error),
    });
  }

  /** Takes settings and queue into use; an event says so, and the last one in the queue before that it ends. */
  use(settings: AuditSettings | undefined, queue: EventQueue | undefined): void {
    if (this.#queue !== queue) this.#endQueue();
    this.#inForce = settings && { settings, isWanted: wantedBy(settings), secrecyOf: secrecyOfKeys(settings.redact) };
    this.#queue = queue;
    if (settings) this.#note('audit_started', told(settings));
  }

  /**
   * Records an event where its type is wanted. In the modes that block, a promise of whether it was written; else
   * undefined. An event that is dropped has its number, too.
   */
  record(event: AuditEvent): Promise<boolean> | undefined {
    const [inForce, queue] = [this.#inForce, this.#queue];
    if (!inForce || !queue || !inForce.isWanted(event.type)) return undefined;
    this.#sequence += 1;
    const line = this.#lineOf(event, inForce);
    if (line === undefined) return inForce.settings.mode === 'batch' ? undefined : Promise.resolve(false);
    if (inForce.settings.mode !== 'batch') return queue.confirm(line);
    queue.add(line);
    return undefined;
  }

  /** Undefined where the event cannot be written at all: a fault of ours, for which no answer is to blame. */
  #lineOf(event: AuditEvent, { settings: { component } }: InForce): string | undefined {
    const { clock, replicaId: replica } = this.#deps;
    try {
      return lineOf(event, { component, replica, sequence: this.#sequence, loggedAt: clock.now() });
    } catch (error) {
      this.#counts.dropped += 1;
      this.#failed(error);
      return undefined;
    }
  }

  /** Writes what waits and ends. */
  async close(): Promise<void> {
    this.#endQueue();
    this.#inForce = undefined;
    this.#queue = undefined;
    await Promise.all(this.#closing);
  }

  #endQueue(): void {
    const queue = this.#queue;
    if (!queue) return;
    this.#note('audit_stopped', this.#counts);
    const closing = queue.close().catch((error: unknown) => this.#failed(error));
    this.#closing.add(closing);
    void closing.then(() => this.#closing.delete(closing));
  }

  #note(type: AuditEventType, settings: Readonly<Record<string, unknown>>): void {
    void this.record({ type, outcome: 'success', receivedAt: this.#deps.clock.now(), settings });
  }

  #wrote(lines: number): void {
    this.#counts.written += lines;
    const { dropped } = this.#counts;
    const count = dropped - this.#droppedSaid;
    if (count === 0) return;
    // Not said before: while standard output is full, a line of the log would hold up the process.
    this.#droppedSaid = dropped;
    if (this.#unsaid('dropped') !== undefined)
      this.#deps.log.warn({ count, dropped }, 'audit events dropped, too many waited to be written');
  }

  #failed(err: unknown): void {
    this.#counts.failedWrites += 1;
    const unsaid = this.#unsaid('failed');
    if (unsaid !== undefined) this.#deps.log.error({ err, unsaid }, 'audit events cannot be written');
  }
}

const NOTHING = { events: 0, bytes: 0 };

const wantedBy = ({ eventTypes, excludeEventTypes, mode }: AuditSettings): InForce['isWanted'] => {
  const [included, excluded] = [new Set(eventTypes), new Set(excludeEventTypes)];
  // What refuses a request in the strict mode is this event, whatever the filters say.
  const isFirst = (type: AuditEventType): boolean => mode === 'blocking-strict' && type === 'request_received';
  return (type) => isFirst(type) || (!excluded.has(type) && (included.size === 0 || included.has(type)));
};

/** The settings as the first event tells them. */
const told = ({ delivery: { logFile, bounds }, redact, ...settings }: AuditSettings) => ({
  ...settings,
  logFile: logFile ?? 'stdout',
  bufferSize: bounds.lines,
  bufferBytes: bounds.bytes,
  redactedKeys: redact.length,
});
