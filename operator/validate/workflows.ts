import { formatPath } from '../../runtime/config/index.ts';
import { type WorkflowFinding, workflowDoubts, workflowProblems } from '../../runtime/workflow-checks/index.ts';
import type { KubeObject } from '../object.ts';
import { type Validator, violation, type Violation } from './validator.ts';

/** Composite tools, wherever they are written: what a schema cannot say of them (docs/workflow-checks.md). */
export const workflows: Validator = {
  kinds: ['VirtualMCPServer', 'VirtualMCPCompositeToolDefinition'],
  validate: (object) => {
    const { list, place } = writtenIn(object);
    const hasOptimizer = member(member(object.spec, 'config'), 'optimizer') !== undefined;
    return told(workflowProblems({ workflows: list, hasOptimizer }), place);
  },
};

/** What workflows say and probably do not mean. */
export const questionableWorkflows = (object: KubeObject): readonly Violation[] => {
  const { list, place } = writtenIn(object);
  return told(workflowDoubts(list), place);
};

type Place = (path: WorkflowFinding['path']) => WorkflowFinding['path'];

const writtenIn = ({ kind, spec }: KubeObject): { readonly list: unknown; readonly place: Place } => {
  if (kind === 'VirtualMCPCompositeToolDefinition')
    // Its spec is one workflow.
    return { list: [spec], place: ([_index, ...path]) => ['spec', ...path] };
  const list = kind === 'VirtualMCPServer' ? member(member(spec, 'config'), 'compositeTools') : undefined;
  return { list, place: (path) => ['spec', 'config', 'compositeTools', ...path] };
};

const told = (findings: readonly WorkflowFinding[], place: Place): readonly Violation[] =>
  findings.map(({ path, reason, remedy }) => violation(formatPath(place(path)), reason, remedy));

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
