import { readTemplate, stepsRead } from './references.ts';
import { type WrittenStep, type WrittenWorkflow, fieldsIn, member } from './written.ts';

/** The steps of a workflow and what they wait for, to be drawn. */
export interface WorkflowGraph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

export interface GraphNode {
  readonly id: string;
  readonly type: WrittenStep['type'];
  /** A few words about it, a line each. */
  readonly lines: readonly string[];
  /** Length of the longest way to it. */
  readonly layer: number;
}

export interface GraphEdge {
  /** Indexes of nodes. */
  readonly from: number;
  readonly to: number;
  /** Only templates say so, not `dependsOn`. */
  readonly isInferred: boolean;
}

/** Steps that wait for each other are refused elsewhere; here an order that breaks their circle gives the layers. */
export const graphOf = ({ steps }: WrittenWorkflow): WorkflowGraph => {
  const indexes = new Map(steps.map(({ id }, index) => [id, index]));
  const edges = steps.flatMap((step, to) => {
    const named = new Set(step.dependsOn);
    const read = step.templates.flatMap((written) => {
      const parsed = readTemplate(written);
      return parsed.ok ? [...stepsRead(parsed.template)] : [];
    });
    return [...new Set([...named, ...read])].flatMap((id) => {
      const from = indexes.get(id);
      return from === undefined ? [] : [{ from, to, isInferred: !named.has(id) }];
    });
  });
  const layers = layersOf(steps.length, edges);
  return { edges, nodes: steps.map((step, index) => ({ ...nodeOf(step), layer: layers[index] ?? 0 })) };
};

const nodeOf = ({ id, type, fields }: WrittenStep): Omit<GraphNode, 'layer'> => {
  const own = {
    tool: () => [textOf(fields['tool'])],
    elicitation: () => ['asks the user'],
    forEach: () => [`for each: ${textOf(fieldsIn(fields['step'])?.['tool'])}`],
  };
  const action = member(fields['onError'], 'action');
  return {
    id,
    type,
    lines: [
      ...own[type](),
      ...(fields['condition'] === undefined ? [] : ['may be skipped']),
      ...(action === 'retry' || action === 'continue' ? [`on error: ${action}`] : []),
    ],
  };
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const layersOf = (count: number, edges: readonly GraphEdge[]): readonly number[] => {
  const waitsFor = Map.groupBy(edges, ({ to }) => to);
  const layers: (number | undefined)[] = Array.from({ length: count });
  let left = Array.from({ length: count }, (_, index) => index);
  while (left.length > 0) {
    const ready = left.filter((step) => (waitsFor.get(step) ?? []).every(({ from }) => layers[from] !== undefined));
    const placed = ready.length > 0 ? ready : left.slice(0, 1);
    const found = placed.map((step) => {
      const before = (waitsFor.get(step) ?? []).map(({ from }) => layers[from] ?? -1);
      return [step, 1 + Math.max(-1, ...before)] as const;
    });
    for (const [step, layer] of found) layers[step] = layer;
    left = left.filter((step) => layers[step] === undefined);
  }
  return layers.map((layer) => layer ?? 0);
};
