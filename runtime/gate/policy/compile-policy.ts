import type { PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import { type Evaluate, noReads, type Reads } from './argument-uses.ts';
import { compileBoolean, noteEntity } from './compile.ts';
import type { Environment } from './environment.ts';
import { and, binary, isIn, isType, not } from './operators.ts';
import { asBoolean } from './outcome.ts';
import type { ParsedPolicy } from './parse-policies.ts';
import type { EntityValue, SetValue } from './values.ts';

/** A policy that can be evaluated here, as far as its operations are known. */
export interface CompiledPolicy extends ParsedPolicy {
  readonly effect: 'permit' | 'forbid';
  readonly reads: Reads;
  /** Bits of `outcome.ts`: action and resource are within its scope, or not; its principal is left out. */
  readonly isInScope: (environment: Environment) => number;
  /** Bits of `outcome.ts`: satisfied, not satisfied, failed. */
  readonly evaluate: (environment: Environment) => number;
}

export const compilePolicy = (policy: ParsedPolicy): CompiledPolicy => {
  const { json } = policy;
  const reads = noReads();
  const principal = scopeOf(json.principal, ofPrincipal, reads);
  if (json.principal.op !== 'All' && !(json.principal.op === 'is' && json.principal.in === undefined))
    reads.identity = true;
  const scope = and(scopeOf(json.action, ofAction, reads), scopeOf(json.resource, ofResource, reads));
  const whole = [principal, scope, ...json.conditions.map((condition) => conditionOf(condition, reads))].reduce(and);
  return {
    ...policy,
    effect: json.effect,
    reads,
    isInScope: (environment) => asBoolean(scope(environment)),
    evaluate: (environment) => asBoolean(whole(environment)),
  };
};

const ofPrincipal: Evaluate = ({ principal }) => principal;
const ofAction: Evaluate = ({ action }) => action;
const ofResource: Evaluate = ({ resource }) => resource;

type Constraint = PolicyJson['principal'] | PolicyJson['action'] | PolicyJson['resource'];
type Uid = { readonly type: string; readonly id: string };

const entityOf = (json: unknown, reads: Reads): EntityValue => {
  const { __entity: inner, ...outer } = json as Uid & { readonly __entity?: Uid };
  const { type, id } = inner ?? outer;
  const value = { kind: 'entity', type, id } as const;
  noteEntity(reads, value);
  return value;
};

const always: Evaluate = () => true;

const scopeOf = (constraint: Constraint, of: Evaluate, reads: Reads): Evaluate => {
  const { op } = constraint;
  const {
    entity,
    entities,
    in: inside,
  } = constraint as {
    readonly entity?: unknown;
    readonly entities?: readonly unknown[];
    readonly in?: { readonly entity: unknown };
  };
  if (op === 'All') return always;
  if (op === 'is') {
    reads.types.add(constraint.entity_type);
    const type = isType(of, constraint.entity_type);
    if (inside === undefined) return type;
    const parent = entityOf(inside.entity, reads);
    return and(
      type,
      isIn(of, () => parent),
    );
  }
  if (op === '==') {
    const wanted = entityOf(entity, reads);
    return binary.equal(of, () => wanted);
  }
  const items = (entities ?? [entity]).map((each) => entityOf(each, reads));
  const set: SetValue = { kind: 'set', items };
  return isIn(of, () => set);
};

const conditionOf = ({ kind, body }: PolicyJson['conditions'][number], reads: Reads): Evaluate => {
  const holds = compileBoolean(body, reads);
  return kind === 'when' ? holds : not(holds);
};
