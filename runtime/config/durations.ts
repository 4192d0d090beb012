import * as z from 'zod';
import { type Rule, rule, withRules } from './rules.ts';
import { coreOf } from './schema-walk.ts';

/** Milliseconds per unit: docs/configuration.md "The configuration file" */
const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

const GROUP = /(?<number>[0-9]+(?:\.[0-9]+)?)(?<unit>ns|us|µs|ms|s|m|h)/gu;

/** One or more groups of a number, maybe with decimals, and a unit; RE2-compatible, because the CRDs carry it too. */
export const DURATION_PATTERN = /^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$/;

/** Bounds the cost of the CEL rules on durations; no sensible duration comes near it. */
const MAX_LENGTH = 64;

/** The range of the API server's own durations (int64 nanoseconds, about 292 years). */
const MAX_MS = 9_223_372_036_854;

/**
 * Milliseconds of a text such as `1h30m` or `1.5s`; may be fractional. Throws a `RangeError` when it is not a duration.
 */
export function parseDuration(text: string): number {
  if (!DURATION_PATTERN.test(text)) throw new RangeError(`not a duration: ${JSON.stringify(text)}`);
  let ms = 0;
  for (const { groups } of text.matchAll(GROUP)) {
    ms += Number(groups?.['number']) * (UNIT_MS[groups?.['unit'] ?? ''] ?? Number.NaN);
  }
  if (!(ms <= MAX_MS)) throw new RangeError(`longer than ${formatDuration(MAX_MS)}: ${JSON.stringify(text)}`);
  return ms;
}

/** The same for rules, which check only texts of this pattern: texts that are too long are refused elsewhere. */
const lengthOf = (text: string): number => {
  try {
    return parseDuration(text);
  } catch {
    return Infinity;
  }
};

/** The shortest text of one unit that `parseDuration` reads back as the same number of milliseconds. */
export function formatDuration(ms: number): string {
  const unit = ['h', 'm', 's', 'ms'].find((name) => Number.isInteger(ms / (UNIT_MS[name] ?? 1)));
  if (unit !== undefined) return `${ms / (UNIT_MS[unit] ?? 1)}${unit}`;
  return `${Number(ms.toFixed(6))}ms`;
}

export interface DurationOptions {
  /** Text of the default; the field is required when neither this nor `.optional()` is given. */
  readonly default?: string;
  /** Smallest value allowed, as text. */
  readonly min?: string;
  /** Largest value allowed, as text. */
  readonly max?: string;
  /** Zero is refused. */
  readonly positive?: boolean;
}

const text = z
  .string({ error: 'not a text such as 30s; write one or more numbers with a unit of ns, us, µs, ms, s, m or h' })
  .regex(DURATION_PATTERN, {
    error: 'not a duration; write one or more numbers with a unit of ns, us, µs, ms, s, m or h, such as 1m30s',
  })
  .max(MAX_LENGTH);

/** A field of the file that holds a duration: text in, milliseconds out. */
export function duration(options: DurationOptions = {}) {
  const schema = withRules(text, ...rulesOfDuration(options)).transform((value, context) => {
    try {
      return parseDuration(value);
    } catch (error) {
      context.issues.push({ code: 'custom', input: value, message: `${String(error)}; write a shorter duration` });
      return z.NEVER;
    }
  });
  return schema;
}

/** Whether a field holds a duration, whatever its bounds and default. */
export function isDuration(schema: z.core.$ZodType): boolean {
  const { checks = [] } = coreOf(schema)._zod.def;
  return checks.some(({ _zod: { def } }) => 'pattern' in def && def.pattern === DURATION_PATTERN);
}

/** A duration that may be left out, with the default that then holds. */
export function durationOr(defaultText: string, options: DurationOptions = {}) {
  return duration(options).prefault(defaultText);
}

function rulesOfDuration({ min, max, positive = false }: DurationOptions): readonly Rule<string>[] {
  const rules: Rule<string>[] = [];
  if (min !== undefined) {
    rules.push(
      rule({
        cel: `duration(self) >= duration('${min}')`,
        holds: (value) => lengthOf(value) >= parseDuration(min),
        reason: `must be at least ${min}`,
        remedy: `write ${min} or more`,
      }),
    );
  }
  if (max !== undefined) {
    rules.push(
      rule({
        cel: `duration(self) <= duration('${max}')`,
        // A text of another form is refused for its form.
        holds: (value) => !DURATION_PATTERN.test(value) || lengthOf(value) <= parseDuration(max),
        reason: `must be at most ${max}`,
        remedy: `write ${max} or less`,
      }),
    );
  }
  if (positive) {
    rules.push(
      rule({
        cel: `duration(self) > duration('0s')`,
        holds: (value) => lengthOf(value) > 0,
        reason: 'must be more than zero',
        remedy: 'write a duration such as 30s',
      }),
    );
  }
  return rules;
}
