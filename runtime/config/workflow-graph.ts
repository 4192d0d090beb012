import type * as z from 'zod';

/** The fields of a step that the graph needs; other fields may be invalid. */
interface Node {
  readonly id?: unknown;
  readonly dependsOn?: unknown;
}

/**
 * Refuses steps that wait for unknown steps, or for each other. CEL cannot follow a graph, so the cluster checks this
 * by webhook. Linear in steps and dependencies, as the author of a workflow determines their number.
 */
export function checkGraph(steps: readonly Node[], context: z.core.$RefinementCtx): void {
  // Duplicate ids are reported elsewhere; here such steps count as one.
  const edges: Edges = new Map(
    [...Map.groupBy(steps, ({ id }) => id)].map(([id, alike]) => [
      id,
      alike.flatMap((step) => namesIn(step.dependsOn)),
    ]),
  );
  const circles = circlesIn(edges);
  let told = 0;
  for (const [index, step] of steps.entries()) {
    for (const [position, name] of namesIn(step.dependsOn).entries()) {
      if (told === MOST_TOLD) return;
      const path = [index, 'dependsOn', position];
      const isKnown = edges.has(name);
      if (isKnown && circles.get(name) !== circles.get(step.id)) continue;
      context.addIssue(isKnown ? circle(String(step.id), name, path) : unknownStep(name, path));
      told += 1;
    }
  }
}

/** Most problems reported, as the number of dependencies may grow with the square of the number of steps. */
const MOST_TOLD = 100;

/** The steps that each step waits for. */
type Edges = ReadonlyMap<unknown, readonly unknown[]>;

function namesIn(dependsOn: unknown): readonly string[] {
  return Array.isArray(dependsOn) ? dependsOn.filter((name) => typeof name === 'string') : [];
}

/**
 * For each step the id of its circle, which is the step's own id where it is on none (strongly connected components,
 * after Kosaraju).
 */
export function circlesIn(edges: Edges): ReadonlyMap<unknown, unknown> {
  const circles = new Map<unknown, unknown>();
  const waiting = reversed(edges);
  for (const root of lastFirst(edges)) {
    const open = [root];
    for (let step = open.pop(); step !== undefined; step = open.pop()) {
      if (circles.has(step)) continue;
      circles.set(step, root);
      for (const next of waiting.get(step) ?? []) open.push(next);
    }
  }
  return circles;
}

/** Every step before those that it waits for, as far as there are no circles. */
function lastFirst(edges: Edges): readonly unknown[] {
  const seen = new Set<unknown>();
  const ended: unknown[] = [];
  for (const root of edges.keys()) {
    const open = [{ step: root, isEnding: false }];
    for (let visit = open.pop(); visit !== undefined; visit = open.pop()) {
      const { step, isEnding } = visit;
      if (isEnding) ended.push(step);
      if (isEnding || seen.has(step)) continue;
      seen.add(step);
      open.push({ step, isEnding: true });
      for (const next of edges.get(step) ?? []) open.push({ step: next, isEnding: false });
    }
  }
  return ended.toReversed();
}

function reversed(edges: Edges): Edges {
  const waiting = new Map<unknown, unknown[]>();
  for (const [step, names] of edges) {
    for (const name of names) {
      const list = waiting.get(name);
      if (list === undefined) waiting.set(name, [step]);
      else list.push(step);
    }
  }
  return waiting;
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
