import type { BackendTarget, BuiltinTarget, WorkflowTarget } from '../call/index.ts';
import type { ListEntry } from './pages.ts';

/** A tool that no backend lists: a composite tool, or one of the runtime's own. */
export interface OwnTool<T extends WorkflowTarget | BuiltinTarget = WorkflowTarget | BuiltinTarget> extends ListEntry {
  readonly target: T;
  /**
   * Where such tools are offered, only they are listed, and no other tool takes their names. Other tools can be called
   * as before.
   */
  readonly isAlone?: true;
  /**
   * JSON text for a caller who is offered these tools, where it differs from caller to caller; asked once for each such
   * list. Absent: `bytes` for all.
   */
  readonly bytesFor?: ((offered: readonly ListEntry[]) => Buffer) | undefined;
  /** The tools of backends that it calls; absent: none. Where one is missing, the tool is not offered. */
  readonly uses?: UsedTools;
}

export interface UsedTools {
  /** As steps name them: `<workload>.<tool>`. */
  readonly tools: readonly string[];
  /** JSON text of the list entry, which tells of what these tools do. */
  readonly entry: (tools: readonly BackendTarget[]) => Buffer;
  /** What these tools do not take of its calls, a line each; it is offered all the same. */
  readonly problems: (targetOf: (reference: string) => BackendTarget | undefined) => readonly string[];
}
