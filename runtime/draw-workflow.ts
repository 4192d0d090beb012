import type { ConfigFile } from './config/index.ts';
import { drawnWorkflow } from './workflow-checks/index.ts';
import { faultsOf, workflowNamed } from './written-workflows.ts';

export interface DrawRequest {
  /** A configuration file, or manifests of VirtualMCPServers and VirtualMCPCompositeToolDefinitions. */
  readonly file: ConfigFile;
  readonly name: string;
  readonly form: 'mermaid' | 'svg';
}

/**
 * The output of `vmcp workflow graph`, and what is wrong with the workflow: one with faults is drawn, too. Throws as
 * `workflowsIn`.
 */
export const drawWorkflow = ({
  file,
  name,
  form,
}: DrawRequest): { readonly exitCode: 0 | 1; readonly output: string; readonly complaints: string } => {
  const found = workflowNamed(file, name);
  if (!found.ok) return { exitCode: 1, output: '', complaints: `${found.problem}\n` };
  const complaints = faultsOf(found.workflow).map((line) => `${line}\n`);
  return {
    exitCode: complaints.length === 0 ? 0 : 1,
    output: drawnWorkflow(found.workflow, form),
    complaints: complaints.join(''),
  };
};
