import { type Reference, references, referredKinds } from '../../crds/index.ts';
import type { KubeObject } from '../object.ts';
import type { LookUp } from '../validate/index.ts';
import { fact } from './conditions.ts';
import type { PlannedCondition } from './plan.ts';

/** A reference and what it leads to; `target` is undefined when nobody made it. */
export interface ResolvedReference extends Reference {
  readonly target: KubeObject | undefined;
}

/**
 * Kinds of references that are looked up, with the word that their conditions begin with; whatever else a schema may name is
 * marked there as not supported yet. A line here gives resolution, watches, fan-out and the condition of a missing one.
 */
const SUBJECTS: Readonly<Record<string, string>> = {
  MCPGroup: 'Group',
  MCPToolConfig: 'ToolConfig',
};

const isLookedUp = (kind: string): boolean => Object.hasOwn(SUBJECTS, kind);

/** Kinds that objects of `kind` may name and that are looked up. */
export const lookedUpKinds = (kind: string): readonly string[] => referredKinds(kind).filter(isLookedUp);

/** Every reference of the object that is looked up, wherever its schema has one. */
export const lookedUpReferences = (object: KubeObject): readonly Reference[] =>
  references(object.kind, object).filter(({ kind }) => isLookedUp(kind));

/** `GroupResolved` (`GroupFound`, `GroupNotFound`) and its like, one for each kind that is named. */
export const referenceConditions = (resolved: readonly ResolvedReference[]): readonly PlannedCondition[] =>
  Object.entries(SUBJECTS).flatMap(([kind, subject]) => {
    const named = resolved.filter((each) => each.kind === kind);
    return named.length === 0 ? [] : [referenceCondition(subject, named)];
  });

const referenceCondition = (subject: string, named: readonly ResolvedReference[]): PlannedCondition => {
  const missing = named.filter(({ target }) => target === undefined);
  return missing.length === 0
    ? fact(`${subject}Resolved`, true, `${subject}Found`, names(named).join(', '))
    : fact(`${subject}Resolved`, false, `${subject}NotFound`, missing.map(howToMend).join('; '));
};

const howToMend = ({ kind, name, path }: ResolvedReference): string =>
  `no ${kind} ${name} in this namespace; create it or change ${path}`;

/** References that lead to nothing, as `kind name`. */
export const missingReferences = (resolved: readonly ResolvedReference[]): readonly string[] =>
  names(resolved.filter(({ target }) => target === undefined));

const names = (resolved: readonly ResolvedReference[]): readonly string[] => [
  ...new Set(resolved.map(({ kind, name }) => `${kind} ${name}`)),
];

/** What the object refers to, for rules that need to see it. */
export const lookUpIn =
  (resolved: readonly ResolvedReference[]): LookUp =>
  (kind, name) =>
    resolved.find((each) => each.kind === kind && each.name === name)?.target;
