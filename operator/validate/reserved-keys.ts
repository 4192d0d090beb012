import { formatPath } from '../../runtime/config/index.ts';
import { MAX_VIOLATIONS, type Validator, type Violation, violation } from './validator.ts';

/**
 * A key that stands for something else than a member wherever JavaScript reads it; the runtime refuses files that have
 * it.
 */
const RESERVED = '__proto__';

/** In free maps such as `config.metadata` the API server takes any key. */
export const reservedKeys: Validator = {
  validate: ({ spec }) => [...inside(spec, ['spec']).take(MAX_VIOLATIONS)],
};

function* inside(value: unknown, path: readonly PropertyKey[]): Generator<Violation, undefined> {
  if (typeof value !== 'object' || value === null) return;
  const entries: Iterable<readonly [PropertyKey, unknown]> = Array.isArray(value)
    ? value.entries()
    : Object.entries(value);
  for (const [key, inner] of entries) {
    if (key === RESERVED) yield violation(formatPath([...path, key]), 'is not a usable key', 'give it another name');
    else yield* inside(inner, [...path, key]);
  }
}
