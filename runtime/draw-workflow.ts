import { parseAllDocuments } from 'yaml';
import { drawnWorkflow, workflowProblems } from './workflow-checks/index.ts';
import { formatPath } from './config/index.ts';

export interface DrawRequest {
  /** A configuration file, or manifests of VirtualMCPServers and VirtualMCPCompositeToolDefinitions. */
  readonly text: string;
  readonly name: string;
  readonly form: 'mermaid' | 'svg';
}

/** The output of `vmcp workflow graph`, and what is wrong with the workflow: one with faults is drawn, too. */
export const drawWorkflow = ({
  text,
  name,
  form,
}: DrawRequest): { readonly exitCode: 0 | 1; readonly output: string; readonly complaints: string } => {
  const all = workflowsIn(text);
  const workflow = all.find((each) => member(each, 'name') === name);
  if (workflow === undefined) {
    const names = all.flatMap((each) =>
      typeof member(each, 'name') === 'string' ? [String(member(each, 'name'))] : [],
    );
    const known = names.length === 0 ? 'there is none' : `there are ${names.join(', ')}`;
    return { exitCode: 1, output: '', complaints: `no composite tool ${JSON.stringify(name)}: ${known}\n` };
  }
  const complaints = workflowProblems({ workflows: [workflow], hasOptimizer: false }).map(
    ({ path: [_index, ...path], reason, remedy }) => `${formatPath(path)}: ${reason}; ${remedy}\n`,
  );
  return {
    exitCode: complaints.length === 0 ? 0 : 1,
    output: drawnWorkflow(workflow, form),
    complaints: complaints.join(''),
  };
};

const workflowsIn = (text: string): readonly unknown[] =>
  parseAllDocuments(text).flatMap((document) => {
    const value = document.toJS() as unknown;
    const spec = member(value, 'spec');
    if (member(value, 'kind') === 'VirtualMCPCompositeToolDefinition') return [spec];
    const list = member(value, 'compositeTools') ?? member(member(spec, 'config'), 'compositeTools');
    return Array.isArray(list) ? (list as unknown[]) : [];
  });

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
