import { type BackendTarget, readTaskId } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import type { OfferedBackend } from './live-catalog.ts';

export interface TaskTargetDeps {
  readonly backends: () => readonly Pick<OfferedBackend, 'name' | 'status' | 'isWithheld'>[];
  /** Resolves once no backend's status is `unknown`, or after the configured wait. */
  readonly known: () => Promise<void>;
}

/**
 * Finds the backend of a task. The id itself names the backend, so an invented id leads at most to a backend that is
 * served. Throws `unknown_name`, and `backend_unavailable` for a backend that is withheld.
 */
export const taskTarget = (id: string, { backends, known }: TaskTargetDeps): BackendTarget | Promise<BackendTarget> => {
  const task = readTaskId(id);
  const owner = task && backends().find(({ name }) => name === task.backend);
  if (!task || !owner) throw new VmcpError('unknown_name', 'unknown task');
  if (owner.isWithheld) throw new VmcpError('backend_unavailable', `backend "${owner.name}" is not served`);
  const target = { kind: 'backend' as const, backend: owner.name, ownName: Buffer.from(JSON.stringify(task.ownId)) };
  // A client may remember its task from before a restart.
  return owner.status === 'unknown' ? known().then(() => target) : target;
};
