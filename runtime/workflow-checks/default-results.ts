import type { ReadTemplate } from './references.ts';
import type { ReadStep } from './dependencies.ts';
import { type WorkflowFinding, fieldsIn } from './written.ts';

/** Where a template reads `.steps.<id>.output`, or a field of it. */
interface OutputRead {
  readonly by: string;
  readonly field: string | undefined;
}

/**
 * Steps whose output may be missing, is read by others, and has no `defaultResults` (docs/workflow-checks.md
 * "What is refused").
 */
export const missingDefaults = (
  steps: readonly ReadStep[],
  output: readonly ReadTemplate[],
): readonly WorkflowFinding[] => {
  const reads = outputReads(steps, output);
  return steps.flatMap(({ id, path, mayLack, fields }) => {
    const [first] = reads.get(id) ?? [];
    if (mayLack === undefined || first === undefined || fields['defaultResults'] !== undefined) return [];
    return [
      {
        path,
        reason: `has ${mayLack}, so that its output may be missing, and ${first.by} reads it`,
        remedy: 'set defaultResults',
      },
    ];
  });
};

/** Fields that others read and `defaultResults` lacks. */
export const incompleteDefaults = (
  steps: readonly ReadStep[],
  output: readonly ReadTemplate[],
): readonly WorkflowFinding[] => {
  const reads = outputReads(steps, output);
  return steps.flatMap(({ id, path, mayLack, fields }) => {
    const given = fieldsIn(fields['defaultResults']);
    if (mayLack === undefined || given === undefined) return [];
    const lacking = (reads.get(id) ?? []).find(({ field }) => field !== undefined && !Object.hasOwn(given, field));
    if (lacking === undefined) return [];
    const reason = `has no ${JSON.stringify(lacking.field)}, which ${lacking.by} reads`;
    return [{ path: [...path, 'defaultResults'], reason, remedy: 'add it' }];
  });
};

const outputReads = (
  steps: readonly ReadStep[],
  output: readonly ReadTemplate[],
): ReadonlyMap<string, readonly OutputRead[]> => {
  const all = [
    ...steps.flatMap(({ id, read }) => read.map((template) => ({ by: `step ${JSON.stringify(id)}`, template }))),
    ...output.map((template) => ({ by: template.written.path.join('.'), template })),
  ].flatMap(({ by, template }) =>
    template.reads.flatMap(({ path: [root, id, member, field] }) =>
      root === 'steps' && id !== undefined && member === 'output' ? [{ id, by, field }] : [],
    ),
  );
  return Map.groupBy(all, ({ id }) => id);
};
