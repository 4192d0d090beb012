/** The instruments that features measure with; each is made once, when the feature is. */
export interface Meter {
  /** A number that only grows. Returns the function that adds to it, 1 by default. */
  readonly counter: <L extends string = never>(of: Instrument<L>) => (labels: Labels<L>, by?: number) => void;
  /** A number that only grows and is kept elsewhere: `read` as for a gauge. */
  readonly observableCounter: <L extends string = never>(
    of: Instrument<L>,
    read: () => number | readonly Reading<L>[],
  ) => void;
  /** A distribution. Returns the function that records one value, in the unit of the instrument. */
  readonly histogram: <L extends string = never>(
    of: Instrument<L> & { readonly buckets: readonly number[] },
  ) => (value: number, labels: Labels<L>) => void;
  /**
   * A number that goes up and down. `read` is called whenever the metrics are read; it must be cheap and must not
   * throw. At most `MAX_READINGS` are shown.
   */
  readonly gauge: <L extends string = never>(of: Instrument<L>, read: () => number | readonly Reading<L>[]) => void;
}

export interface Instrument<L extends string> {
  /** OpenTelemetry's form: `vmcp.policy.decisions`. Prometheus shows `vmcp_policy_decisions_total`. */
  readonly name: string;
  /** One sentence. */
  readonly help: string;
  /** Seconds or bytes; Prometheus shows it in the name. */
  readonly unit?: 's' | 'By';
  /** Names of labels in OpenTelemetry's form. */
  readonly labels?: readonly L[];
}

/**
 * Values by label; a label without a value is left out. Of each label of a counter or histogram the first `MAX_VALUES`
 * values are told apart, and all others count as `other`; so does everything beyond `MAX_SERIES`. A value is never a
 * secret, an address, or the id of a user or session.
 */
export type Labels<L extends string> = { readonly [Name in L]?: string | undefined };

export type Reading<L extends string> = readonly [labels: Labels<L>, value: number];

export const MAX_VALUES = 200;

/** Series of one counter or histogram. */
export const MAX_SERIES = 5_000;

export const MAX_READINGS = 2_000;

/** Durations of operations in seconds (OpenTelemetry, "Semantic conventions for Model Context Protocol"). */
export const OPERATION_SECONDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300] as const;

/** Durations of the runtime's own steps in seconds, from a few microseconds on. */
export const STEP_SECONDS = [0.00001, 0.00005, 0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5] as const;
