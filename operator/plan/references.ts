import { type Reference, references, referredKinds } from '../../crds/index.ts';
import type { KubeObject } from '../object.ts';
import { type LookUp, type Violation, violationText, violationsOf } from '../validate/index.ts';
import { fact } from './conditions.ts';
import type { PlannedCondition } from './plan.ts';
import { SUBJECTS, type Subject } from './subjects.ts';

/** A reference and what it leads to. */
export interface ResolvedReference extends Reference {
  /** Undefined when there is no such object, or when it may not be used. */
  readonly target: KubeObject | undefined;
  /** Why what is there may not be used. */
  readonly invalid?: string;
}

/**
 * Under which kind a source keeps the objects of a kind. Of ConfigMaps the operator keeps its own; of those that
 * resources name it needs to know no more than that they are there.
 */
export const sourceKind = (kind: string): string => (kind === 'ConfigMap' ? 'AnyConfigMap' : kind);

/** The kind that a reference gives to an object of a source. */
export const referenceKind = (kind: string): string => (kind === 'AnyConfigMap' ? 'ConfigMap' : kind);

const isLookedUp = (kind: string): boolean => Object.hasOwn(SUBJECTS, kind);

/** Kinds, as a source has them, that objects of `kind` may name and that are looked up. */
export const lookedUpKinds = (kind: string): readonly string[] =>
  referredKinds(kind).filter(isLookedUp).map(sourceKind);

/** Every reference of the object that is looked up, wherever its schema has one. */
export const lookedUpReferences = (object: KubeObject): readonly Reference[] =>
  references(object.kind, object).filter(({ kind }) => isLookedUp(kind));

/** The reference with what it leads to; what breaks a rule (`broken`) is as good as missing, and says why. */
export const resolved = (
  reference: Reference,
  target: KubeObject | undefined,
  broken: Violation | undefined,
): ResolvedReference =>
  broken === undefined
    ? { ...reference, target: target && withoutStatus(target) }
    : { ...reference, target: undefined, invalid: violationText(broken) };

/** What others name may have a long list of them in its status, which is nothing to those. */
const withoutStatus = (target: KubeObject): KubeObject => {
  if (target.kind === 'EmbeddingServer') return target;
  const { status: _, ...seen } = target;
  const { managedFields: __, ...metadata } = target.metadata;
  return { ...seen, metadata };
};

/**
 * The first rule that the object breaks. Its own condition names the others, and what it refers to is not at hand here.
 */
export const firstViolationOf = (object: KubeObject): Violation | undefined => violationsOf(object, () => undefined)[0];

/** `GroupResolved` (`GroupFound`, `GroupNotFound`, `GroupInvalid`) and its like, one for each kind that is named. */
export const referenceConditions = (all: readonly ResolvedReference[]): readonly PlannedCondition[] =>
  Object.entries(SUBJECTS).flatMap(([kind, subject]) => {
    const named = all.filter((each) => each.kind === kind);
    return named.length === 0 ? [] : [referenceCondition(subject, named)];
  });

const referenceCondition = (subject: Subject, named: readonly ResolvedReference[]): PlannedCondition => {
  const open = unresolved(named);
  if (open.length === 0) return fact(`${subject}Resolved`, true, `${subject}Found`, names(named).join(', '));
  const isMissing = open.some(({ invalid }) => invalid === undefined);
  const message = [...new Set(open.map(unresolvedText))].join('; ');
  return fact(`${subject}Resolved`, false, isMissing ? `${subject}NotFound` : `${subject}Invalid`, message);
};

/** What is wrong with a reference that leads to nothing usable, with the remedy. */
export const unresolvedText = ({ kind, name, path, invalid }: ResolvedReference): string =>
  invalid === undefined
    ? `no ${kind} ${name} in this namespace; create it or change ${path}`
    : `${kind} ${name} cannot be used: ${invalid}`;

/** References that lead to nothing usable. */
export const unresolved = (all: readonly ResolvedReference[]): readonly ResolvedReference[] =>
  all.filter(({ target }) => target === undefined);

/** What they name, as `kind name`. */
export const names = (all: readonly ResolvedReference[]): readonly string[] => [
  ...new Set(all.map(({ kind, name }) => `${kind} ${name}`)),
];

/** What the object refers to, for rules that need to see it. */
export const lookUpIn =
  (all: readonly ResolvedReference[]): LookUp =>
  (kind, name) =>
    all.find((each) => each.kind === kind && each.name === name)?.target;
