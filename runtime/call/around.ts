import type { Call } from './call.ts';
import type { Caller } from './caller.ts';
import type { Inbound } from './inbound.ts';
import type { Message } from './message.ts';
import type { Reply } from './reply.ts';
import type { Target } from './target.ts';

/** What is known of a request so far; filled in step by step, for observers. */
export interface RequestRecord {
  readonly request: Inbound;
  caller: Caller | undefined;
  message: Message | undefined;
}

/** `next` rejects where the request is refused before it could be read. */
export type AroundRequest = (record: RequestRecord, next: () => Promise<Reply>) => Promise<Reply>;

/** What is known of a call so far; filled in step by step, for observers. */
export interface CallRecord {
  /** The target of the name; undefined until it was found. */
  target: Target | undefined;
  /** Undefined until policies have decided, and where there are none. */
  decision: PolicyDecision | undefined;
}

/** What the policies say about an access. */
export interface PolicyDecision {
  readonly isAllowed: boolean;
  /** Ids of the policies that decide: those that forbid, else those that permit; empty where none applies. */
  readonly policies: readonly string[];
  /** Ids of the policies whose evaluation failed; a failure denies the access. */
  readonly failed: readonly string[];
  /** Ids of the policies annotated `@dryRun` that would have decided otherwise. */
  readonly dryRun: readonly string[];
}

/**
 * Wraps every call, including inner ones, and sees its outcome. `next` throws or rejects where the call is refused or
 * fails.
 */
export type AroundCall = (call: Call, record: CallRecord, next: () => Promise<Reply>) => Promise<Reply>;

/** May throw synchronously where a step refuses without waiting, so callers must catch that, too. */
export type Dispatch = (call: Call) => Promise<Reply>;
