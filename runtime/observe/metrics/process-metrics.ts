import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Meter } from './meter.ts';

/** How often the delay of the event loop is taken: rarely, so that an idle process is not kept awake. */
const DELAY_RESOLUTION_MS = 100;

const NANOSECONDS = 1e9;
const MICROSECONDS = 1e6;

/** Memory, processor time and event loop of the process. Returns the function that stops measuring. */
export const processMetrics = (meter: Meter): (() => void) => {
  const memory = (part: keyof NodeJS.MemoryUsage) => () => process.memoryUsage()[part];
  const bytes = (name: string, help: string) => ({ name, help, unit: 'By' }) as const;
  meter.gauge(bytes('process.resident_memory', 'Memory of the process.'), memory('rss'));
  meter.gauge(bytes('nodejs.heap.used', 'Memory of live and dead objects.'), memory('heapUsed'));
  meter.gauge(bytes('nodejs.external_memory', 'Memory of buffers, outside of the heap.'), memory('external'));
  meter.gauge({ name: 'process.cpu', help: 'Processor time since the start.', unit: 's', labels: ['cpu.mode'] }, () => {
    const { user, system } = process.cpuUsage();
    return [
      [{ 'cpu.mode': 'user' }, user / MICROSECONDS],
      [{ 'cpu.mode': 'system' }, system / MICROSECONDS],
    ];
  });
  meter.gauge({ name: 'process.uptime', help: 'Time since the start.', unit: 's' }, () => process.uptime());
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  delay.enable();
  meter.gauge(
    {
      name: 'nodejs.eventloop.delay',
      help: 'How late timers of the process were, since this was read last.',
      unit: 's',
      labels: ['quantile'],
    },
    () => readDelay(delay),
  );
  return () => void delay.disable();
};

const readDelay = (delay: ReturnType<typeof monitorEventLoopDelay>) => {
  // The time between two samples is measured; without a sample the values mean nothing.
  const late = (nanoseconds: number): number =>
    delay.count === 0 ? 0 : Math.max(0, nanoseconds / NANOSECONDS - DELAY_RESOLUTION_MS / 1000);
  const readings = [
    [{ quantile: '0.5' }, late(delay.percentile(50))],
    [{ quantile: '0.99' }, late(delay.percentile(99))],
    [{ quantile: '1' }, late(delay.max)],
  ] as const;
  delay.reset();
  return readings;
};
