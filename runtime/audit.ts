import { callerKey } from './call/index.ts';
import type { Config, LiveConfig } from './config/index.ts';
import { errorResponse } from './edge/index.ts';
import {
  type AuditSettings,
  auditMetrics,
  auditObserver,
  Journal,
  type Log,
  logins,
  type Meter,
  type Observers,
  type RecordEvent,
} from './observe/index.ts';
import { type Clock, lruCache } from './process/index.ts';
import { sessionName } from './store/index.ts';

/** As in `FeatureDeps`. */
export interface AuditDeps {
  readonly config: LiveConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  readonly replicaId: string;
  readonly onStop: (close: () => Promise<void>) => void;
}

export interface Audit {
  readonly observer: Partial<Observers>;
  readonly record: RecordEvent;
}

/** Audit as `config.audit` and `extensions.audit` have it; every key takes effect live. */
export const audit = ({ config, clock, log, meter, replicaId, onStop }: AuditDeps): Audit => {
  const journal = new Journal({ clock, log, replicaId });
  auditMetrics(meter, journal);
  const queue = config.live(
    (part) => auditSettingsOf(part)?.delivery,
    (delivery) => delivery && journal.queueFor(delivery),
    // One that was in use has been ended by the journal.
    () => {},
  );
  const settings = config.live(auditSettingsOf, (part) => part);
  journal.use(settings(), queue());
  config.onReload(() => {
    const before = settings();
    return () => {
      if (settings() !== before) journal.use(settings(), queue());
    };
  });
  onStop(() => journal.close());
  const observer = auditObserver({
    journal,
    logins: logins(),
    now: clock.now,
    sessionName: rememberedName(),
    statusOf: (error) => errorResponse(error, { id: undefined, isUnread: true, correlationId: '' }).status,
  });
  return { observer, record: async (event) => void (await journal.record({ receivedAt: clock.now(), ...event })) };
};

/** Undefined: audit is off. */
const auditSettingsOf = ({ audit: part, extensions, name }: Config): AuditSettings | undefined => {
  if (part?.enabled !== true) return undefined;
  const { bufferSize, bufferBytes, batchMaxSize, batchMaxWait, mode, redact } = extensions.audit;
  return {
    component: part.component ?? name,
    eventTypes: part.eventTypes ?? [],
    excludeEventTypes: part.excludeEventTypes ?? [],
    includeRequestData: part.includeRequestData,
    includeResponseData: part.includeResponseData,
    maxDataBytes: part.maxDataSize,
    detectApplicationErrors: part.detectApplicationErrors,
    redact,
    mode,
    delivery: {
      logFile: part.logFile === '' ? undefined : part.logFile,
      bounds: { lines: bufferSize, bytes: bufferBytes, batchLines: batchMaxSize, batchWaitMs: batchMaxWait },
    },
  };
};

/** Names of sessions that are remembered, as each is a digest. */
const NAMES = { count: 10_000, bytes: 4 * 1024 * 1024 };

/** As `sessionName`, which is the name of the session among replicas, too. */
const rememberedName = (): ((...session: Parameters<Name>) => string) => {
  const known = lruCache<{ readonly caller: string; readonly name: string }>(NAMES);
  return (id, caller) => {
    const key = callerKey(caller);
    const before = known.get(id);
    if (before?.caller === key) return before.name;
    const name = sessionName({ id, caller });
    known.set(id, { caller: key, name }, 2 * (id.length + key.length + name.length));
    return name;
  };
};

type Name = Parameters<typeof auditObserver>[0]['sessionName'];
