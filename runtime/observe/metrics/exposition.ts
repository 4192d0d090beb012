import type { Measured } from './measured.ts';
import type { Cell } from './series.ts';

/** All metrics in Prometheus' text format ("Exposition formats", version 0.0.4). */
export const expositionOf = (measured: readonly Measured[]): string => `${measured.map(linesOf).join('\n\n')}\n`;

const linesOf = (each: Measured): string => {
  const name = prometheusName(each);
  const series = each.series.flatMap((cell) =>
    each.kind === 'histogram' ? histogramLines(name, cell, each.buckets) : [line(name, labelsOf(cell), cell.value)],
  );
  return [`# HELP ${name} ${escaped(each.help)}`, `# TYPE ${name} ${each.kind}`, ...series].join('\n');
};

/** Unit and kind are part of a name (OpenTelemetry, "Prometheus and OpenMetrics Compatibility"). */
const prometheusName = ({ kind, name, unit }: Pick<Measured, 'kind' | 'name' | 'unit'>): string =>
  prometheusForm(name) + UNITS[unit] + (kind === 'counter' ? '_total' : '');

const UNITS = { s: '_seconds', By: '_bytes', '': '' } as const;

/** `mcp.method.name` becomes `mcp_method_name`. */
const prometheusForm = (name: string): string => name.replaceAll(/[^a-zA-Z0-9_]/g, '_');

/** Each bucket counts those before it, too. */
const histogramLines = (name: string, cell: Readonly<Cell>, buckets: readonly number[]): readonly string[] => {
  const labels = labelsOf(cell);
  let total = 0;
  const lines = cell.counts.map((count, at) => {
    total += count;
    const bound = at < buckets.length ? String(buckets[at]) : '+Inf';
    return line(`${name}_bucket`, [`le="${bound}"`, ...labels], total);
  });
  return [...lines, line(`${name}_sum`, labels, cell.value), line(`${name}_count`, labels, total)];
};

const labelsOf = ({ labels }: Readonly<Cell>): readonly string[] =>
  Object.entries(labels).map(([name, value]) => `${prometheusForm(name)}="${escaped(value).replaceAll('"', '\\"')}"`);

const line = (name: string, labels: readonly string[], value: number): string =>
  `${name}${labels.length > 0 ? `{${labels.join(',')}}` : ''} ${value}`;

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
