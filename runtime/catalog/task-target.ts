import type { BackendTarget } from '../call.ts';
import { VmcpError } from '../errors.ts';
import { readTaskId } from '../task-id.ts';
import type { OfferedBackend } from './offer.ts';

export interface TaskTargetDeps {
  readonly backends: () => readonly Pick<OfferedBackend, 'name' | 'status' | 'isWithheld'>[];
  /** Resolves once every backend has been heard of, or has been waited for long enough. */
  readonly known: () => Promise<void>;
}

/**
 * Where the id of a task leads: it names its backend itself, and whatever a client makes up leads at most to a backend that is served.
 * Throws `unknown_name`, and `backend_unavailable` for a backend that is withheld.
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
