import type { BuiltinTarget, Call, Reply, WorkflowTarget } from './call.ts';
import type { Offer, OwnTool } from './catalog/index.ts';
import type { MakeInnerCall } from './inner-call.ts';
import type { Dispatch } from './pipeline.ts';

/** Tools that no backend has, by the kind of their targets: one feature offers and serves all of a kind. Absent: there are none of it. */
export interface OwnToolsByKind {
  readonly workflow?: OwnTools<WorkflowTarget> | undefined;
  readonly builtin?: OwnTools<BuiltinTarget> | undefined;
}

export interface OwnTools<T extends WorkflowTarget | BuiltinTarget> {
  readonly all: () => readonly OwnTool<T>[];
  /** Calls `listener` whenever `all` gives others than before. */
  readonly onChange: (listener: () => void) => void;
  readonly serve: (call: Call, target: T, deps: OwnToolDeps) => Promise<Reply>;
}

export interface OwnToolDeps {
  /** The way of what the tool calls itself. */
  readonly dispatch: Dispatch;
  readonly innerCall: MakeInnerCall;
  readonly offeredTo: Offer['offeredTo'];
}
