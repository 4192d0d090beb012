import type { ListedItem } from '../mcp/index.ts';

/** The target of a name. */
export type Target = BackendTarget | WorkflowTarget | BuiltinTarget;

/** An entry of a backend. */
export interface BackendTarget {
  readonly kind: 'backend';
  readonly backend: string;
  /** The backend's own name of the entry, as JSON text. */
  readonly ownName: Buffer;
  /** The entry in the backend's list; absent for an unlisted one. */
  readonly listed?: ListedItem;
  /** Annotations of a tool that the configuration overrides. */
  readonly annotations?: Readonly<Record<string, string | boolean | undefined>>;
  /** The listed template that the URI matched. */
  readonly template?: string;
}

/** A composite tool, by its name. */
export interface WorkflowTarget {
  readonly kind: 'workflow';
  readonly workflow: string;
}

/** A tool of the runtime itself, by its name. */
export interface BuiltinTarget {
  readonly kind: 'builtin';
  readonly tool: string;
}
