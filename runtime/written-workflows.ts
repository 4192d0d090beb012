import { LineCounter, parseAllDocuments } from 'yaml';
import { type ConfigFile, formatPath, formatProblem, InvalidConfigError } from './config/index.ts';
import { workflowProblems } from './workflow-checks/index.ts';

/**
 * The workflows of a file as they are written: of a configuration, or of manifests of VirtualMCPServers and
 * VirtualMCPCompositeToolDefinitions. Throws InvalidConfigError where it is no YAML: what could be read of it is not
 * what its author has written.
 */
export const workflowsIn = (file: ConfigFile): readonly unknown[] =>
  valuesIn(file).flatMap((value) => {
    const spec = member(value, 'spec');
    if (member(value, 'kind') === 'VirtualMCPCompositeToolDefinition') return [spec];
    const list = member(value, 'compositeTools') ?? member(member(spec, 'config'), 'compositeTools');
    return Array.isArray(list) ? (list as unknown[]) : [];
  });

/** Whether a file holds resources of Kubernetes. Throws as `workflowsIn`. */
export const holdsManifests = (file: ConfigFile): boolean =>
  valuesIn(file).some((value) => member(value, 'kind') !== undefined);

const valuesIn = ({ name: file, text }: ConfigFile): readonly unknown[] => {
  const lineCounter = new LineCounter();
  const documents = [...parseAllDocuments(text, { lineCounter, prettyErrors: false })];
  const problems = documents.flatMap(({ errors }) =>
    errors.map(({ pos: [offset], message }) => {
      const { line, col: column } = lineCounter.linePos(offset);
      const [reason = ''] = message.split('\n', 1);
      return formatProblem({
        file,
        line,
        column,
        path: '',
        reason: `not valid YAML: ${reason}`,
        remedy: 'correct the YAML here',
      });
    }),
  );
  if (problems.length > 0) throw new InvalidConfigError(problems);
  return documents.map((document) => document.toJS() as unknown);
};

export const nameOf = (workflow: unknown): string | undefined => {
  const name = member(workflow, 'name');
  return typeof name === 'string' ? name : undefined;
};

export type FoundWorkflow =
  | { readonly ok: true; readonly workflow: unknown }
  /** Says which there are. */
  | { readonly ok: false; readonly problem: string };

/** The workflow of a file that has this name. Throws as `workflowsIn`. */
export const workflowNamed = (file: ConfigFile, name: string): FoundWorkflow => {
  const all = workflowsIn(file);
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
