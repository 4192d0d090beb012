import type {
  AroundStep,
  BuiltinTarget,
  Call,
  Caller,
  Dispatch,
  NewInnerCall,
  Reply,
  WorkflowTarget,
} from './call/index.ts';
import type { LiveCatalog, OwnTool } from './catalog/index.ts';
import type { ExplainSearch } from './explain/index.ts';

/**
 * Tools that no backend lists, by the kind of their targets: one feature offers and serves all tools of a kind. Absent:
 * there are no such tools.
 */
export interface OwnToolsByKind {
  readonly workflow?: OwnTools<WorkflowTarget> | undefined;
  readonly builtin?: OwnTools<BuiltinTarget> | undefined;
}

/** The feature that offers and serves all own tools of one kind. */
export interface OwnTools<T extends WorkflowTarget | BuiltinTarget> {
  readonly all: () => readonly OwnTool<T>[];
  /** Calls `listener` whenever the result of `all` has changed. */
  readonly onChange: (listener: () => void) => void;
  readonly serve: (call: Call, target: T, deps: OwnToolDeps) => Promise<Reply>;
  /** Called once, with the catalog in which the tools are offered. */
  readonly follow?: ((catalog: LiveCatalog) => void) | undefined;
  /** Why a search for tools gives one of them or not. */
  readonly explainSearch?: ExplainSearch | undefined;
}

export interface OwnToolDeps {
  /** Sends the inner calls of the tool. */
  readonly dispatch: Dispatch;
  readonly innerCall: NewInnerCall;
  readonly offeredTo: LiveCatalog['offeredTo'];
  readonly listableFor: LiveCatalog['listableFor'];
  /** Around each step of a composite tool. */
  readonly aroundStep: AroundStep;
  /**
   * The caller of an inner call that is made now, with the newest token where the call's own has ended. Throws
   * `credential_unavailable` where that one has ended, too.
   */
  readonly currentCaller: (caller: Caller) => Caller;
  /** The answer to a tool call that has failed, for one that is answered later. */
  readonly refuse: (error: unknown, call: Call) => Reply;
}
