import { isOpaque, type Value } from './values.ts';

/** What an expression may come to where it is not one known value. */
export interface Possible {
  readonly kind: 'possible';
  /** Bits: `TRUE`, `FALSE`, `ERROR`, `OTHER`. */
  readonly mask: number;
}

export const TRUE = 1;
export const FALSE = 2;
/** The evaluation fails. */
export const ERROR = 4;
/** A value that is no Boolean. */
export const OTHER = 8;

/** A known value, or what is possible. */
export type Outcome = Value | Possible;

const all: readonly Possible[] = Array.from({ length: 16 }, (_, mask) => Object.freeze({ kind: 'possible', mask }));

export const ANYTHING: Possible = Object.freeze({ kind: 'possible', mask: TRUE | FALSE | ERROR | OTHER });
export const FAILS: Possible = all[ERROR] ?? ANYTHING;
export const EITHER: Possible = all[TRUE | FALSE] ?? ANYTHING;

export const possible = (mask: number): Outcome => {
  if (mask === TRUE) return true;
  return mask === FALSE ? false : (all[mask] ?? ANYTHING);
};

/** Narrows an outcome: nothing is known of an opaque value either. */
export const isKnown = (outcome: Outcome): outcome is Value =>
  typeof outcome !== 'object' || (outcome.kind !== 'possible' && !isOpaque(outcome));

/** The outcome where a Boolean is needed, as bits: any other value is an error. */
export const asBoolean = (outcome: Outcome): number => {
  if (typeof outcome === 'boolean') return outcome ? TRUE : FALSE;
  if (typeof outcome !== 'object') return ERROR;
  if (outcome.kind === 'possible') return outcome.mask & OTHER ? (outcome.mask & ~OTHER) | ERROR : outcome.mask;
  return ERROR;
};

/** Whether the outcome is an error and nothing else. */
export const surelyFails = (outcome: Outcome): boolean =>
  typeof outcome === 'object' && outcome.kind === 'possible' && outcome.mask === ERROR;
