import { type Evaluate, noteUse, type Reads } from './argument-uses.ts';
import {
  and,
  attributeOf,
  binary,
  contextHas,
  hasAttributes,
  ifThenElse,
  isIn,
  isType,
  like,
  member,
  negation,
  not,
  or,
  recordOf,
  setOf,
} from './operators.ts';
import { ARGUMENT, CLAIM } from './environment.ts';
import { ANYTHING } from './outcome.ts';
import { valueOfJson } from './represent.ts';
import type { EntityValue } from './values.ts';

/** A node of Cedar's JSON form of an expression: one operator and what it is applied to. */
export type Node = Readonly<Record<string, unknown>>;

interface Pair {
  readonly left: Node;
  readonly right: Node;
}

/**
 * Turns Cedar's JSON form of an expression ("JSON policy format", docs.cedarpolicy.com) into a function, and notes what
 * the expression reads. Whatever is not known here evaluates to anything.
 */
export const compile = (node: Node, reads: Reads): Evaluate => {
  const [[operator, operand] = ['', undefined]] = Object.entries(node);
  const make = Object.hasOwn(OPERATORS, operator) ? OPERATORS[operator] : undefined;
  if (make) return make(operand, reads);
  return opaque(operand, reads);
};

type Make = (operand: unknown, reads: Reads) => Evaluate;

/** An operation of Cedar that is not evaluated here; its operands are still read. */
const opaque: Make = (operand, reads) => {
  for (const each of nodesIn(operand)) compile(each, reads);
  return () => ANYTHING;
};

const nodesIn = (operand: unknown): readonly Node[] => {
  const values: readonly unknown[] = typeof operand === 'object' && operand !== null ? Object.values(operand) : [];
  return values.filter((each): each is Node => typeof each === 'object' && each !== null);
};

/** An operand that has to be Boolean. */
export const compileBoolean = (node: Node, reads: Reads): Evaluate => {
  const name = argumentIn(node);
  if (name !== undefined) noteUse(reads, name, { kind: 'boolean' });
  const choice = node['if-then-else'];
  if (choice !== undefined) return choiceOf(choice, reads, compileBoolean);
  return name === undefined ? compile(node, reads) : argument(name);
};

/** The argument that is this very expression, `context.arg_x`. */
const argumentIn = (node: Node): string | undefined => {
  const access = node['.'] as { readonly left: Node; readonly attr: string } | undefined;
  return access && access.left['Var'] === 'context' && access.attr.startsWith(ARGUMENT) ? access.attr : undefined;
};

const argument =
  (name: string): Evaluate =>
  ({ args }) =>
    args === undefined ? ANYTHING : member(args.get(name));

/** Both sides of an operator; where one of them is an argument, its use is noted by `kind`. */
const sides = (
  { left, right }: Pair,
  reads: Reads,
  kind: {
    readonly left: 'equal' | 'order' | 'element' | 'other';
    readonly right: 'equal' | 'order' | 'member' | 'other';
  },
): readonly [Evaluate, Evaluate] => {
  const [leftName, rightName] = [argumentIn(left), argumentIn(right)];
  const before = reads.args.size + usesIn(reads);
  const one = leftName === undefined ? compile(left, reads) : argument(leftName);
  const other = rightName === undefined ? compile(right, reads) : argument(rightName);
  const isAlone = reads.args.size + usesIn(reads) === before && !reads.wholeContext;
  if (leftName !== undefined)
    noteUse(reads, leftName, isAlone && rightName === undefined ? useOf(kind.left, other) : OTHER_USE);
  if (rightName !== undefined)
    noteUse(reads, rightName, isAlone && leftName === undefined ? useOf(kind.right, one) : OTHER_USE);
  return [one, other];
};

const usesIn = ({ args }: Reads): number => [...args.values()].reduce((sum, uses) => sum + uses.length, 0);

const OTHER_USE = { kind: 'other' } as const;

const useOf = (kind: 'equal' | 'order' | 'member' | 'element' | 'other', other: Evaluate) =>
  kind === 'other' ? OTHER_USE : ({ kind, other } as const);

const pairOf =
  (apply: (left: Evaluate, right: Evaluate) => Evaluate, kind: Parameters<typeof sides>[2]): Make =>
  (operand, reads) =>
    apply(...sides(operand as Pair, reads, kind));

const EQUAL = { left: 'equal', right: 'equal' } as const;
const ORDER = { left: 'order', right: 'order' } as const;
const OTHER = { left: 'other', right: 'other' } as const;

const variable: Make = (operand, reads) => {
  if (operand === 'principal') {
    reads.identity = true;
    return ({ principal }) => principal;
  }
  if (operand === 'resource') return ({ resource }) => resource;
  if (operand === 'action') return ({ action }) => action;
  reads.wholeContext = true;
  return ({ claims, args }) =>
    args === undefined ? ANYTHING : { kind: 'record', members: new Map([...claims, ...args]) };
};

const literal: Make = (operand, reads) => {
  const value = valueOfJson(operand);
  if (typeof value === 'object' && value.kind === 'opaque') {
    return () => ANYTHING;
  }
  noteEntity(reads, value as EntityValue);
  return () => value;
};

export const noteEntity = ({ entities }: Reads, { kind, type, id }: EntityValue): void => {
  if (kind === 'entity' && id !== undefined) entities.set(`${type}::${JSON.stringify(id)}`, { type, id });
};

/** `context.x` and `principal.x` read one value; anything else may lead to whatever entities have. */
const access: Make = (operand, reads) => {
  const { left, attr } = operand as { readonly left: Node; readonly attr: string };
  noteRead(reads, attr, left);
  if (left['Var'] === 'context') return contextMember(attr, reads);
  const of = left['Var'] === 'principal' ? principal : compile(left, reads);
  return attributeOf(of, attr);
};

const noteRead = ({ claims, contextClaims, attributes }: Reads, name: string, of: Node): void => {
  const isContext = of['Var'] === 'context';
  if (!isContext) attributes.add(name);
  if (!name.startsWith(CLAIM)) return;
  claims.add(name);
  if (isContext) contextClaims.add(name);
};

const principal: Evaluate = (environment) => environment.principal;

const contextMember = (attr: string, reads: Reads): Evaluate => {
  if (!attr.startsWith(ARGUMENT)) {
    if (!attr.startsWith(CLAIM)) reads.strange.add(attr);
    return ({ claims }) => member(claims.get(attr));
  }
  noteUse(reads, attr, OTHER_USE);
  return argument(attr);
};

const presence: Make = (operand, reads) => {
  const { left, attr } = operand as { readonly left: Node; readonly attr: string | readonly string[] };
  const names = typeof attr === 'string' ? [attr] : attr;
  for (const each of names) {
    noteRead(reads, each, left);
    reads.tested.add(each);
  }
  if (left['Var'] !== 'context')
    return hasAttributes(left['Var'] === 'principal' ? principal : compile(left, reads), names);
  const [first = ''] = names;
  if (first.startsWith(ARGUMENT)) noteUse(reads, first, names.length === 1 ? { kind: 'presence' } : OTHER_USE);
  return contextHas(names);
};

const pattern: Make = (operand, reads) => {
  const { left, pattern } = operand as { readonly left: Node; readonly pattern: readonly PatternPart[] };
  const name = argumentIn(left);
  if (name !== undefined) noteUse(reads, name, { kind: 'pattern', examples: examplesOf(pattern) });
  return like(name === undefined ? compile(left, reads) : argument(name), pattern);
};

/** A part of the pattern of `like`. */
export type PatternPart = 'Wildcard' | { readonly Literal: string };

const examplesOf = (pattern: readonly PatternPart[]): readonly string[] =>
  ['', '~'].map((wild) => pattern.map((part) => (part === 'Wildcard' ? wild : part.Literal)).join(''));

const typeTest: Make = (operand, reads) => {
  const {
    left,
    entity_type: type,
    in: inside,
  } = operand as {
    readonly left: Node;
    readonly entity_type: string;
    readonly in?: Node;
  };
  reads.types.add(type);
  const name = argumentIn(left);
  if (name !== undefined) noteUse(reads, name, { kind: 'never' });
  const of = name === undefined ? compile(left, reads) : argument(name);
  return inside === undefined ? isType(of, type) : and(isType(of, type), isIn(of, compile(inside, reads)));
};

const OPERATORS: Readonly<Record<string, Make>> = {
  Value: literal,
  Var: variable,
  '.': access,
  has: presence,
  like: pattern,
  is: typeTest,
  '==': pairOf(binary.equal, EQUAL),
  '!=': pairOf((left, right) => not(binary.equal(left, right)), EQUAL),
  '<': pairOf(binary.less, ORDER),
  '<=': pairOf(binary.lessOrEqual, ORDER),
  '>': pairOf((left, right) => binary.greater(left, right), ORDER),
  '>=': pairOf((left, right) => binary.greaterOrEqual(left, right), ORDER),
  '+': pairOf(binary.plus, OTHER),
  '-': pairOf(binary.minus, OTHER),
  '*': pairOf(binary.times, OTHER),
  in: pairOf(isIn, OTHER),
  contains: pairOf(binary.contains, { left: 'element', right: 'member' }),
  containsAll: pairOf(binary.containsAll, OTHER),
  containsAny: pairOf(binary.containsAny, OTHER),
  isEmpty: (operand, reads) => binary.isEmpty(compile((operand as { arg: Node }).arg, reads)),
  neg: (operand, reads) => negation(compile((operand as { arg: Node }).arg, reads)),
  '!': (operand, reads) => not(compileBoolean((operand as { arg: Node }).arg, reads)),
  '&&': (operand, reads) => and(...booleans(operand as Pair, reads)),
  '||': (operand, reads) => or(...booleans(operand as Pair, reads)),
  'if-then-else': (operand, reads) => choiceOf(operand, reads, compile),
  Set: (operand, reads) => setOf((operand as readonly Node[]).map((each) => compile(each, reads))),
  Record: (operand, reads) =>
    recordOf(Object.entries(operand as Node).map(([name, each]) => [name, compile(each as Node, reads)] as const)),
};

const booleans = ({ left, right }: Pair, reads: Reads): readonly [Evaluate, Evaluate] => [
  compileBoolean(left, reads),
  compileBoolean(right, reads),
];

const choiceOf = (operand: unknown, reads: Reads, branch: typeof compile): Evaluate => {
  const { if: condition, then, else: otherwise } = operand as Readonly<Record<'if' | 'then' | 'else', Node>>;
  return ifThenElse(compileBoolean(condition, reads), branch(then, reads), branch(otherwise, reads));
};
