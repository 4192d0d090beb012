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

/** What is known of a call so far. */
export interface CallRecord {
  /** The target of the name; undefined until the call is admitted. */
  target: Target | undefined;
}

/**
 * Wraps every call, including inner ones, and sees its outcome. `next` throws or rejects where the call is refused or
 * fails.
 */
export type AroundCall = (call: Call, record: CallRecord, next: () => Promise<Reply>) => Promise<Reply>;

/** May throw synchronously where a step refuses without waiting, so callers must catch that, too. */
export type Dispatch = (call: Call) => Promise<Reply>;
