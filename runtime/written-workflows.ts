import { parseAllDocuments } from 'yaml';
import { formatPath } from './config/index.ts';
import { workflowProblems } from './workflow-checks/index.ts';

/**
 * The workflows of a text as they are written: of a configuration file, or of manifests of VirtualMCPServers and
 * VirtualMCPCompositeToolDefinitions.
 */
export const workflowsIn = (text: string): readonly unknown[] =>
  parseAllDocuments(text).flatMap((document) => {
    const value = document.toJS() as unknown;
    const spec = member(value, 'spec');
    if (member(value, 'kind') === 'VirtualMCPCompositeToolDefinition') return [spec];
    const list = member(value, 'compositeTools') ?? member(member(spec, 'config'), 'compositeTools');
    return Array.isArray(list) ? (list as unknown[]) : [];
  });

/** Whether a text holds resources of Kubernetes. */
export const holdsManifests = (text: string): boolean =>
  parseAllDocuments(text).some((document) => member(document.toJS(), 'kind') !== undefined);

export const nameOf = (workflow: unknown): string | undefined => {
  const name = member(workflow, 'name');
  return typeof name === 'string' ? name : undefined;
};

export type FoundWorkflow =
  | { readonly ok: true; readonly workflow: unknown }
  /** Says which there are. */
  | { readonly ok: false; readonly problem: string };

/** The workflow of a text that has this name. */
export const workflowNamed = (text: string, name: string): FoundWorkflow => {
  const all = workflowsIn(text);
  const workflow = all.find((each) => nameOf(each) === name);
  if (workflow !== undefined) return { ok: true, workflow };
  const names = all.flatMap((each) => nameOf(each) ?? []);
  const known = names.length === 0 ? 'there is none' : `there are ${names.join(', ')}`;
  return { ok: false, problem: `no composite tool ${JSON.stringify(name)}: ${known}` };
};

/** What keeps a workflow from running, a line each. */
export const faultsOf = (workflow: unknown): readonly string[] =>
  workflowProblems({ workflows: [workflow], hasOptimizer: false }).map(
    ({ path: [_index, ...path], reason, remedy }) => `${formatPath(path)}: ${reason}; ${remedy}`,
  );

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
