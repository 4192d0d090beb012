import type { Meter } from '../metrics/meter.ts';
import type { Journal } from './journal.ts';

/** Shows the counts of a journal among the metrics. */
export const auditMetrics = (meter: Meter, journal: Pick<Journal, 'counts' | 'waiting'>): void => {
  meter.observableCounter(
    { name: 'vmcp.audit.events', help: 'Audit events, by what became of them.', labels: ['vmcp.audit.outcome'] },
    () => {
      const { written, dropped } = journal.counts;
      return [
        [{ 'vmcp.audit.outcome': 'written' }, written],
        [{ 'vmcp.audit.outcome': 'dropped' }, dropped],
      ];
    },
  );
  meter.observableCounter(
    { name: 'vmcp.audit.write.failures', help: 'Attempts to write audit events that failed; the events are kept.' },
    () => journal.counts.failedWrites,
  );
  meter.gauge(
    { name: 'vmcp.audit.queue.events', help: 'Audit events that wait to be written.' },
    () => journal.waiting.events,
  );
  meter.gauge(
    { name: 'vmcp.audit.queue.size', help: 'Size of the audit events that wait to be written.', unit: 'By' },
    () => journal.waiting.bytes,
  );
};
