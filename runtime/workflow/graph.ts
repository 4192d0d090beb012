import { fieldsOf, type Template } from '../templates/index.ts';
import { stepsRead } from '../workflow-checks/index.ts';

/** A step as the graph sees it, in the order of the configuration. */
export interface Node {
  readonly id: string;
  readonly dependsOn: readonly string[];
  readonly templates: readonly Template[];
}

/** For each step, the steps that it waits for: `dependsOn`, and those whose results its templates read. */
export type Edges = ReadonlyMap<string, ReadonlySet<string>>;

export const edgesOf = (nodes: readonly Node[]): Edges => {
  const ids = new Set(nodes.map(({ id }) => id));
  return new Map(nodes.map((node) => [node.id, new Set([...node.dependsOn, ...stepsReadBy(node, ids)])]));
};

/** A template that reads all of `.steps` says nothing about single ones: such a step needs `dependsOn`. */
const stepsReadBy = ({ templates }: Node, ids: ReadonlySet<string>): readonly string[] =>
  templates.flatMap((template) => [...stepsRead({ reads: fieldsOf(template) })].filter((id) => ids.has(id)));

/**
 * The steps in an order in which each can wait for those before it, as near to that of the configuration as possible.
 * Throws where steps wait for each other.
 */
export const inOrder = (ids: readonly string[], edges: Edges): readonly string[] => {
  const ordered = new Set<string>();
  let left = ids;
  while (left.length > 0) {
    const next = left.find((id) => [...(edges.get(id) ?? [])].every((each) => ordered.has(each)));
    if (next === undefined) throw new Error(`steps wait for each other: ${left.join(', ')}`);
    ordered.add(next);
    left = left.filter((id) => id !== next);
  }
  return [...ordered];
};
