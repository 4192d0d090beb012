import { type Config, type Finding, formatPath, parseDuration } from '../config/index.ts';
import { lruCache } from '../process/index.ts';
import { type WorkflowFindings, checkWorkflow } from './check.ts';
import { mermaidOf, svgOf } from './drawing.ts';
import { graphOf } from './graph.ts';
import { type Path, type WorkflowFinding, listIn, member, writtenWorkflow } from './written.ts';

/** Workflows as they are written, and what they stand beside. */
export interface WrittenWorkflows {
  readonly workflows: unknown;
  readonly hasOptimizer: boolean;
}

/** What keeps single workflows from running; paths begin with the place in the list. Never throws. */
export const workflowProblems = ({ workflows, hasOptimizer }: WrittenWorkflows): readonly WorkflowFinding[] =>
  listIn(workflows).flatMap((workflow, index) => [
    ...(hasOptimizer ? takenName(workflow, index) : []),
    ...below([index], findingsOf(workflow).problems),
  ]);

/** What workflows say and probably do not mean. */
export const workflowDoubts = (workflows: unknown): readonly WorkflowFinding[] =>
  listIn(workflows).flatMap((workflow, index) => below([index], findingsOf(workflow).doubts));

/** By the text of workflows: the operator asks about the same ones at every look at a server. */
const known = lruCache<WorkflowFindings>({ count: 256, bytes: 4 * 1024 * 1024 });

const findingsOf = (workflow: unknown): WorkflowFindings => {
  const key = JSON.stringify(workflow);
  const before = known.get(key);
  if (before) return before;
  const found = checkWorkflow(writtenWorkflow(workflow, durationMs));
  known.set(key, found, 2 * key.length);
  return found;
};

const below = (path: Path, findings: readonly WorkflowFinding[]): readonly WorkflowFinding[] =>
  findings.map((finding) => ({ ...finding, path: [...path, ...finding.path] }));

/** The tools that the optimizer has. */
export const OPTIMIZER_TOOLS: readonly string[] = ['find_tool', 'call_tool'];

const takenName = (workflow: unknown, index: number): readonly WorkflowFinding[] =>
  OPTIMIZER_TOOLS.some((name) => name === member(workflow, 'name'))
    ? [{ path: [index, 'name'], reason: 'the optimizer has a tool of this name', remedy: 'give it another name' }]
    : [];

const durationMs = (text: unknown): number | undefined => {
  if (typeof text === 'number') return text;
  try {
    return typeof text === 'string' ? parseDuration(text) : undefined;
  } catch {
    return undefined;
  }
};

/** Steps and what they wait for, as a diagram. Never throws. */
export const drawnWorkflow = (workflow: unknown, form: 'mermaid' | 'svg'): string => {
  const graph = graphOf(writtenWorkflow(workflow, durationMs));
  return form === 'svg' ? svgOf(graph) : mermaidOf(graph);
};

/** Of a configuration file, as written. */
export const workflowFindings = (file: unknown): readonly Finding[] =>
  workflowProblems({
    workflows: member(file, 'compositeTools'),
    hasOptimizer: member(file, 'optimizer') !== undefined,
  }).map(({ path, ...told }) => ({ path: ['compositeTools', ...path], ...told }));

/** Warnings about workflows of a valid configuration. */
export const workflowWarnings = ({
  compositeTools,
  backends,
}: Pick<Config, 'compositeTools' | 'backends'>): readonly string[] => {
  const names = backends.map(({ name }) => name);
  return [...workflowDoubts(compositeTools), ...unknownWorkloads(compositeTools, names)].map(
    ({ path, reason, remedy }) => `${formatPath(['compositeTools', ...path])}: ${reason}; ${remedy}`,
  );
};

/** Tools of workloads that the configuration has not; an operator may add backends at any time. */
const unknownWorkloads = (workflows: unknown, names: readonly string[]): readonly WorkflowFinding[] =>
  listIn(workflows).flatMap((workflow, index) =>
    listIn(member(workflow, 'steps')).flatMap((step, position) => {
      const path = [index, 'steps', position];
      return [
        ...unknownWorkload(member(step, 'tool'), [...path, 'tool'], names),
        ...unknownWorkload(member(member(step, 'step'), 'tool'), [...path, 'step', 'tool'], names),
      ];
    }),
  );

const unknownWorkload = (tool: unknown, path: Path, names: readonly string[]): readonly WorkflowFinding[] =>
  typeof tool !== 'string' || names.some((name) => tool.startsWith(`${name}.`))
    ? []
    : [{ path, reason: `no backend has the name in ${JSON.stringify(tool)}`, remedy: 'write <workload>.<tool>' }];
