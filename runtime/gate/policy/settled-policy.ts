import { isDeepStrictEqual } from 'node:util';
import type { PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import type { Reads } from './argument-uses.ts';
import { type CompiledPolicy, compilePolicy } from './compile-policy.ts';
import type { Node } from './compile.ts';
import { CedarFailure, withCedar } from './engine.ts';
import { CLAIM } from './environment.ts';

/** A policy as Cedar gets it, and what that reads. */
export interface SettledPolicy {
  readonly text: string;
  readonly reads: Reads;
}

const ANY = { op: 'All' } as const;

/**
 * The policy for accesses whose action and resource are within its scope. It does not ask for them again, and reads
 * claims from the context, which has the same ones as the principal (docs/policies.md "Entities"): most of the time of
 * a decision is spent on the entities of its request, and this needs few of them. The policy as it is where Cedar
 * cannot write it so.
 */
export const settledPolicy = (policy: CompiledPolicy): SettledPolicy => {
  const { effect, principal, conditions } = policy.json;
  const json: PolicyJson = {
    effect,
    principal,
    action: ANY,
    resource: ANY,
    conditions: conditions.map(({ kind, body }) => ({ kind, body: claimsOfContext(body) as typeof body })),
    annotations: {},
  };
  const text = textOf(json);
  return text === undefined ? policy : { text, reads: compilePolicy({ ...policy, json }).reads };
};

/** Undefined where the text could say anything else than the policy. */
const textOf = (json: PolicyJson): string | undefined => {
  if (!isExact(json)) return undefined;
  try {
    const written = withCedar((cedar) => cedar.policyToText(json));
    if (written.type === 'failure') return undefined;
    const read = withCedar((cedar) => cedar.policyToJson(written.text));
    return read.type === 'success' && isDeepStrictEqual({ ...read.json, annotations: {} }, json)
      ? written.text
      : undefined;
  } catch (error) {
    if (error instanceof CedarFailure) return undefined;
    throw error;
  }
};

/**
 * Whether JavaScript has read this as Cedar has written it: without integers that a double does not hold, and without
 * names of one character that JSON may escape (V8 may read them wrong: nodejs/node#63785).
 */
const isExact = (value: unknown): boolean => {
  if (typeof value === 'number') return Number.isSafeInteger(value);
  if (typeof value !== 'object' || value === null) return true;
  const isWellRead = (name: string): boolean => name.length > 1 || PLAIN_NAME.test(name);
  return Object.entries(value).every(([name, each]) => isWellRead(name) && isExact(each));
};

/** The operators of one character, and what else is never escaped. */
const PLAIN_NAME = /^[A-Za-z0-9_.!<>+*-]$/;

/** The expression with `context.claim_x` in place of `principal.claim_x`. */
const claimsOfContext = (node: Node): Node => {
  const [[operator, operand] = ['', undefined]] = Object.entries(node);
  if (operator === 'Value') return node;
  const isClaim = (operator === '.' || operator === 'has') && isClaimOfPrincipal(operand as Access);
  return { [operator]: isClaim ? { ...(operand as Access), left: { Var: 'context' } } : operandsOf(operand) };
};

interface Access {
  readonly left: Node;
  /** Several of them for `has`. */
  readonly attr: string | readonly string[];
}

const isClaimOfPrincipal = ({ left, attr }: Access): boolean =>
  left['Var'] === 'principal' && [attr].flat()[0]?.startsWith(CLAIM) === true;

const operandsOf = (operand: unknown): unknown => {
  if (typeof operand !== 'object' || operand === null) return operand;
  if (Array.isArray(operand)) return operand.map(expressionIn);
  return Object.fromEntries(Object.entries(operand).map(([name, each]) => [name, expressionIn(each)]));
};

/** Operands that are no expressions (names, patterns) stay as they are. */
const expressionIn = (value: unknown): unknown => {
  if (Array.isArray(value)) return value;
  return typeof value === 'object' && value !== null ? claimsOfContext(value as Node) : value;
};
