import type * as z from 'zod';

/** What the graph needs to know of a step; other fields may be wrong. */
interface Node {
  readonly id?: unknown;
  readonly dependsOn?: unknown;
}

/** Refuses steps that wait for unknown steps, or for each other. CEL cannot follow a graph, so the cluster checks this by webhook. */
export function checkGraph(steps: readonly Node[], context: z.core.$RefinementCtx): void {
  const edges = new Map(steps.map((step) => [step.id, namesIn(step.dependsOn)]));
  for (const [index, step] of steps.entries()) {
    for (const [position, name] of namesIn(step.dependsOn).entries()) {
      const path = [index, 'dependsOn', position];
      if (!edges.has(name)) context.addIssue(unknownStep(name, path));
      else if (reaches(edges, name, step.id)) context.addIssue(circle(String(step.id), name, path));
    }
  }
}

function namesIn(dependsOn: unknown): readonly string[] {
  return Array.isArray(dependsOn) ? dependsOn.filter((name) => typeof name === 'string') : [];
}

function reaches(edges: ReadonlyMap<unknown, readonly string[]>, from: string, target: unknown): boolean {
  const seen = new Set<string>();
  const open = [from];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (name === target) return true;
    if (seen.has(name)) continue;
    seen.add(name);
    open.push(...(edges.get(name) ?? []));
  }
  return false;
}

function unknownStep(name: string, path: (string | number)[]) {
  const reason = `no step has the id ${JSON.stringify(name)}`;
  const remedy = 'name a step of this workflow';
  return { code: 'custom' as const, path, message: `${reason}; ${remedy}`, params: { reason, remedy } };
}

function circle(id: string, name: string, path: (string | number)[]) {
  const reason =
    id === name
      ? `${JSON.stringify(id)} waits for itself`
      : `${JSON.stringify(id)} and ${JSON.stringify(name)} wait for each other`;
  const remedy = 'remove one of the dependencies of the circle';
  return { code: 'custom' as const, path, message: `${reason}; ${remedy}`, params: { reason, remedy } };
}
