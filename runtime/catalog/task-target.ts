import { readTaskId, readWorkflowTaskId, type Target } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import type { OfferedBackend } from './live-catalog.ts';

export interface TaskTargetDeps {
  readonly backends: () => readonly Pick<OfferedBackend, 'name' | 'status' | 'isWithheld'>[];
  /** Resolves once no backend's status is `unknown`, or after the configured wait. */
  readonly known: () => Promise<void>;
}

/**
 * Finds the backend, or the workflow, of a task. The id itself names it, so an invented id leads at most to a backend
 * that is served, and a workflow knows its tasks and whose they are. Throws `unknown_name`, and `backend_unavailable`
 * for a backend that is withheld.
 */
export const taskTarget = (id: string, { backends, known }: TaskTargetDeps): Target | Promise<Target> => {
  const ofWorkflow = readWorkflowTaskId(id);
  if (ofWorkflow) {
    const target = { kind: 'workflow' as const, workflow: ofWorkflow.workflow };
    // What it calls next may be a tool of any of them.
    return backends().some(({ status }) => status === 'unknown') ? known().then(() => target) : target;
  }
  const task = readTaskId(id);
  const owner = task && backends().find(({ name }) => name === task.backend);
  if (!task || !owner) throw new VmcpError('unknown_name', 'unknown task');
  if (owner.isWithheld) throw new VmcpError('backend_unavailable', `backend "${owner.name}" is not served`);
  const target = { kind: 'backend' as const, backend: owner.name, ownName: Buffer.from(JSON.stringify(task.ownId)) };
  // A client may remember its task from before a restart.
  return owner.status === 'unknown' ? known().then(() => target) : target;
};
