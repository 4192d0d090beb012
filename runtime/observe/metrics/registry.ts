import { expositionOf } from './exposition.ts';
import type { Kind, Measured } from './measured.ts';
import { type Instrument, type Labels, MAX_READINGS, type Meter, type Reading } from './meter.ts';
import { type Cell, SeriesSet } from './series.ts';

/** Everything that is measured, as text. */
export interface Exposition {
  readonly contentType: string;
  readonly text: () => string;
}

export interface Metrics extends Exposition {
  readonly meter: Meter;
  /** The same at this moment, under OpenTelemetry's names. */
  readonly measured: () => readonly Measured[];
}

/**
 * The one record of all metrics. Prometheus reads it as text, the OTLP exporter as values, so that both show the same.
 * Recording costs a part of a microsecond, which no client library of Prometheus or OpenTelemetry does.
 */
export const createMetrics = (): Metrics => {
  const all = new Map<string, () => Measured>();
  const measured = (): readonly Measured[] => [...all.values()].map((read) => read());
  const register = (kind: Kind, of: Instrument<string>, read: Pick<Measured, 'buckets'> & HowToRead): void => {
    if (all.has(of.name)) throw new Error(`a metric ${of.name} has already been registered`);
    const { name, help, unit = '' } = of;
    all.set(name, () => ({ kind, name, help, unit, buckets: read.buckets, series: read.series() }));
  };
  return {
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
    text: () => expositionOf(measured()),
    measured,
    meter: meterOf(register),
  };
};

interface HowToRead {
  readonly series: () => readonly Readonly<Cell>[];
}

type Register = (kind: Kind, of: Instrument<string>, read: Pick<Measured, 'buckets'> & HowToRead) => void;

const meterOf = (register: Register): Meter => ({
  counter: (of) => {
    const set = new SeriesSet(of.labels ?? [], 0);
    register('counter', of, { buckets: [], series: () => set.cells });
    return (labels, by = 1) => {
      set.cellOf(labels).value += by;
    };
  },
  observableCounter: (of, read) => register('counter', of, { buckets: [], series: () => readingsOf(read()) }),
  histogram: (of) => {
    const { buckets } = of;
    const set = new SeriesSet(of.labels ?? [], buckets.length + 1);
    register('histogram', of, { buckets, series: () => set.cells });
    return (value, labels) => {
      const cell = set.cellOf(labels);
      let bucket = 0;
      while (bucket < buckets.length && value > (buckets[bucket] ?? 0)) bucket += 1;
      cell.counts[bucket] = (cell.counts[bucket] ?? 0) + 1;
      cell.value += value;
    };
  },
  gauge: (of, read) => register('gauge', of, { buckets: [], series: () => readingsOf(read()) }),
});

const readingsOf = (read: number | readonly Reading<string>[]): readonly Readonly<Cell>[] => {
  const readings = typeof read === 'number' ? [[{}, read] as const] : read.slice(0, MAX_READINGS);
  return readings.map(([labels, value]) => ({ labels: present(labels), value, counts: [] }));
};

const present = (labels: Labels<string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(labels).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''),
  );
