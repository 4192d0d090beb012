import { circlesIn } from '../config/index.ts';
import { type ReadTemplate, stepsRead } from './references.ts';
import type { WorkflowFinding, WrittenStep } from './written.ts';

/** A step with those of its templates that can be parsed. */
export interface ReadStep extends WrittenStep {
  readonly read: readonly ReadTemplate[];
}

/** Steps that wait for each other because of what their templates read; `dependsOn` alone is checked by the schema. */
export const circularReads = (steps: readonly ReadStep[]): readonly WorkflowFinding[] => {
  const ids = new Set(steps.map(({ id }) => id));
  const circles = circlesIn(
    new Map(steps.map((step) => [step.id, [...step.dependsOn, ...readBy(step)].filter((id) => ids.has(id))])),
  );
  return steps.flatMap((step) =>
    step.read.flatMap((template) =>
      [...stepsRead(template)].flatMap((id) => {
        if (!ids.has(id) || circles.get(id) !== circles.get(step.id)) return [];
        const reason =
          id === step.id
            ? `step ${JSON.stringify(id)} reads its own result`
            : `reads ${JSON.stringify(id)}, which waits for ${JSON.stringify(step.id)}`;
        return [{ path: template.written.path, reason, remedy: 'read only steps that end before' }];
      }),
    ),
  );
};

/** Dependencies that follow from templates alone: they hold, and a reader of `dependsOn` does not see them. */
export const inferredDependencies = (steps: readonly ReadStep[]): readonly WorkflowFinding[] => {
  const byId = new Map(steps.map((step) => [step.id, step]));
  return steps.flatMap((step) => {
    const read = readBy(step).filter((id) => id !== step.id && byId.has(id));
    if (read.length === 0) return [];
    const ancestors = ancestorsOf(step, byId);
    const inferred = read.filter((id) => !ancestors.has(id));
    if (inferred.length === 0) return [];
    const names = inferred.map((id) => JSON.stringify(id)).join(', ');
    return [
      {
        path: [...step.path, 'dependsOn'],
        reason: `step ${JSON.stringify(step.id)} waits for ${names}, since its templates read ${inferred.length === 1 ? 'it' : 'them'}`,
        remedy: `write dependsOn: [${[...step.dependsOn, ...inferred].join(', ')}]`,
      },
    ];
  });
};

/** Templates that read all of `.steps`, or of the data: nothing says which steps have to end before. */
export const readsOfAllSteps = (steps: readonly ReadStep[]): readonly WorkflowFinding[] =>
  steps.flatMap((step) =>
    step.read.flatMap(({ written, reads }) => {
      const isWhole = reads.some(
        ({ path: [root, id] }) => root === undefined || (root === 'steps' && id === undefined),
      );
      if (!isWhole || step.dependsOn.length > 0) return [];
      return [
        {
          path: written.path,
          reason: 'reads the results of all steps, and waits for none',
          remedy: 'name the steps in dependsOn, or read single ones',
        },
      ];
    }),
  );

const readBy = ({ read }: ReadStep): readonly string[] => [...new Set(read.flatMap((each) => [...stepsRead(each)]))];

/** All steps that `dependsOn` makes it wait for, directly or not. */
const ancestorsOf = (step: ReadStep, byId: ReadonlyMap<string, ReadStep>): ReadonlySet<string> => {
  const found = new Set(step.dependsOn);
  // A set that grows while it is walked is walked to its end.
  for (const id of found) for (const next of byId.get(id)?.dependsOn ?? []) found.add(next);
  return found;
};
