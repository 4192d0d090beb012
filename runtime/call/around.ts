import type { VmcpError } from '../errors.ts';
import type { Access, Call } from './call.ts';
import type { Caller } from './caller.ts';
import type { UsedCredential } from './credential.ts';
import type { Inbound, RequestHead } from './inbound.ts';
import type { Message } from './message.ts';
import type { Reply } from './reply.ts';
import type { BackendTarget, Target } from './target.ts';

/** What is known of a request so far; filled in step by step, for observers. */
export interface RequestRecord {
  readonly request: Inbound;
  caller: Caller | undefined;
  message: Message | undefined;
  /** The client's own call, once it is dispatched. */
  call: CallRecord | undefined;
}

/** `next` rejects where the request is refused before it could be read. */
export type AroundRequest = (record: RequestRecord, next: () => Promise<Reply>) => Promise<Reply>;

/** What is known of a call so far; filled in step by step, for observers. */
export interface CallRecord {
  /** The request that leads to the call, of an inner call as well. Absent for a call outside of any request. */
  readonly request?: RequestRecord | undefined;
  /** The target of the name; undefined until it was found. */
  target: Target | undefined;
  /** Undefined until policies have decided, and where there are none. */
  decision: PolicyDecision | undefined;
  /** Absent until a request is to be sent to a backend that wants a credential. */
  credential?: UsedCredential;
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

/**
 * An answer that the pipeline did not make: that of a route beside MCP, or the refusal of a request that did not reach
 * the pipeline or whose answer could not be sent. A route that writes to its response itself (`hijack`) is not seen.
 */
export interface OutsideAnswer {
  readonly request: RequestHead;
  /** Path of the URL, without the query. */
  readonly path: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  readonly status: number;
  /** Why the request was refused or failed. */
  readonly error: VmcpError | undefined;
}

/** Observes such an answer before it is sent; where it returns a promise, the answer waits for that. Never throws. */
export type OnOutsideAnswer = (answer: OutsideAnswer) => void | Promise<void>;

/** A decision beside the calls: about a watched name, or about what is open since earlier settings. */
export interface Decided {
  readonly caller: Caller;
  /** `GET`, `DELETE`: an open stream, or a session, as the request that opens or ends it. */
  readonly method: Access['method'] | 'GET' | 'DELETE';
  /** Absent: the decision is about the whole stream or session. */
  readonly watched?: Pick<Access, 'name' | 'names'>;
  /** What the steps of an admission have noted. */
  readonly record?: CallRecord;
  /** The request that is decided about; absent: what it has opened is decided about again. */
  readonly request?: Inbound | undefined;
  readonly sessionId?: string | undefined;
  /** Why it was refused, or has ended. */
  readonly refusal: VmcpError | undefined;
}

/** Observes such a decision; where it returns a promise, the answer waits for that. Never throws. */
export type OnDecided = (decided: Decided) => void | Promise<void>;

/**
 * Wraps every call that is sent to a backend. `next` sends the call that it is given, which may be one with a trace
 * context of its own.
 */
export type AroundBackendCall = (
  call: Call,
  target: BackendTarget,
  next: (call: Call) => Promise<Reply>,
) => Promise<Reply>;

/** One step of a composite tool. */
export interface WorkflowStep {
  readonly workflow: string;
  readonly id: string;
  readonly type: 'tool' | 'elicitation' | 'forEach';
}

/** `waiting`: the client will be asked, and the step goes on with the client's next request. */
export type StepState = 'completed' | 'failed' | 'skipped' | 'waiting';

/**
 * Wraps every step that a composite tool runs for a call, its repetitions included. `next` is given what the step's own
 * calls are inner calls of: the call, or a copy of it that stands for the step. It rejects where the step ends the
 * workflow.
 */
export type AroundStep = <Outcome extends { readonly state: StepState }>(
  call: Call,
  step: WorkflowStep,
  next: (call: Call) => Promise<Outcome>,
) => Promise<Outcome>;

/**
 * `of` is the client's request that leads to the call. May throw synchronously where a step refuses without waiting,
 * so callers must catch that, too.
 */
export type Dispatch = (call: Call, of?: RequestRecord) => Promise<Reply>;
