import type { EntityValue, RecordValue, Value } from './values.ts';

/** What the conditions of policies are evaluated with. */
export interface Environment {
  readonly principal: EntityValue;
  readonly action: EntityValue;
  /** Its id is undefined where only its backend is known. */
  readonly resource: EntityValue;
  readonly claims: ReadonlyMap<string, Value>;
  /** By the name with its prefix; undefined: not known. */
  readonly args: ReadonlyMap<string, Value> | undefined;
  /** Undefined: there is no such entity. `unknown`: not known, which holds for an entity without a known id. */
  readonly attributesOf: (entity: EntityValue) => RecordValue | 'unknown' | undefined;
  /** Whether `entity` is the other one or below it; undefined: not known. */
  readonly isBelow: (entity: EntityValue, other: EntityValue) => boolean | undefined;
}

export const CLAIM = 'claim_';
export const ARGUMENT = 'arg_';
