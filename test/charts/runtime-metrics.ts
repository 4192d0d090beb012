import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A metric of the runtime, as docs/telemetry.md "Metrics" has it. */
export interface DocumentedMetric {
  readonly name: string;
  readonly kind: string;
  readonly labels: readonly string[];
}

const PAGE = join(import.meta.dirname, '..', '..', 'docs', 'telemetry.md');

const quoted = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

export const documentedMetrics = (): readonly DocumentedMetric[] => {
  const [, section = ''] = readFileSync(PAGE, 'utf8').split('\n## Metrics\n');
  const rows = section.split('\n## ', 1)[0]?.matchAll(/^\| (`[^|]+) \| (\w+) \| ([^|]*)\|/gm) ?? [];
  return [...rows].flatMap(([, names = '', kind = '', labels = '']) =>
    quoted(names).map((name) => ({ name, kind, labels: quoted(labels) })),
  );
};
