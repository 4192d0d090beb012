import type { Cell } from './series.ts';

export type Kind = 'counter' | 'gauge' | 'histogram';

/** One instrument with its series. */
export interface Measured {
  readonly kind: Kind;
  readonly name: string;
  readonly help: string;
  readonly unit: 's' | 'By' | '';
  /** Upper bounds of a histogram's buckets; empty for other kinds. */
  readonly buckets: readonly number[];
  readonly series: readonly Readonly<Cell>[];
}
