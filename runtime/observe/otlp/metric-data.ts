import { type HrTime, ValueType } from '@opentelemetry/api';
import { AggregationTemporality, DataPointType, type MetricData } from '@opentelemetry/sdk-metrics';
import type { Measured } from '../metrics/measured.ts';
import type { Cell } from '../metrics/series.ts';

/** When the counts began, and now: milliseconds since the epoch. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The metrics in the form of OpenTelemetry's SDK, cumulated since the start of the process. */
export const metricData = (measured: readonly Measured[], span: Span): MetricData[] => {
  const times = { startTime: hrTime(span.from), endTime: hrTime(span.to) };
  return measured.filter(({ series }) => series.length > 0).map((each) => dataOf(each, times));
};

interface Times {
  readonly startTime: HrTime;
  readonly endTime: HrTime;
}

const dataOf = ({ kind, name, help, unit, buckets, series }: Measured, times: Times): MetricData => {
  const common = {
    descriptor: { name, description: help, unit, valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  if (kind === 'histogram')
    return {
      ...common,
      dataPointType: DataPointType.HISTOGRAM,
      dataPoints: series.map((each) => ({ ...times, attributes: each.labels, value: histogramOf(each, buckets) })),
    };
  const dataPoints = series.map(({ labels, value }) => ({ ...times, attributes: labels, value }));
  return kind === 'counter'
    ? { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
    : { ...common, dataPointType: DataPointType.GAUGE, dataPoints };
};

const histogramOf = ({ value: sum, counts }: Readonly<Cell>, buckets: readonly number[]) => ({
  buckets: { boundaries: [...buckets], counts: [...counts] },
  sum,
  count: counts.reduce((all, count) => all + count, 0),
});

const hrTime = (ms: number): HrTime => {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
};
