/**
 * What travels through the runtime as values: the caller, the request and its answer, the call and its target, and the
 * shapes of the steps that handle them. Types and pure functions only: this room performs no input or output and knows
 * no other room but json/, mcp/ and process/. Start at `call.ts` (a call), then `inbound.ts` (its HTTP request) and
 * `reply.ts`.
 */

export type { Admission, AdmissionSteps, Admit, MayHave } from './admission.ts';
export { type AnswerError, errorIn } from './answer-error.ts';
export type {
  AroundBackendCall,
  AroundCall,
  AroundRequest,
  AroundStep,
  CallRecord,
  Decided,
  Dispatch,
  OnDecided,
  OnOutsideAnswer,
  OutsideAnswer,
  PolicyDecision,
  RequestRecord,
  StepState,
  WorkflowStep,
} from './around.ts';
export {
  type Access,
  argumentsOf,
  type BackendSessions,
  type Call,
  type CallClient,
  type Origin,
  type RelayedRequest,
  type RoutedMethod,
  type SessionClient,
  type TraceContext,
} from './call.ts';
export {
  type Caller,
  type User,
  callerKey,
  clientKey,
  isSameCaller,
  RELAYED_AUTHORIZATION,
  UNVERIFIED_ISSUER,
} from './caller.ts';
export { type CredentialOutcome, type UsedCredential, weightierOutcome } from './credential.ts';
export type { EventSink, Inbound, RequestHead, StreamRecord } from './inbound.ts';
export { type InnerCall, type NewInnerCall, innerCalls } from './inner-call.ts';
export { type Message, methodOf } from './message.ts';
export { accessEnded, type EndReason, type OpenFor } from './open-for.ts';
export { type Answered, type ClientAnswer, type Question, unknownState, WORKFLOW_STATE } from './questions.ts';
export {
  aroundResult,
  bodyLength,
  bodyOf,
  type OpenStream,
  type PageReply,
  type Reply,
  responseWith,
  type StreamReply,
  type WholeReply,
} from './reply.ts';
export { traceContextIn, withTraceContext } from './trace-meta.ts';
export type { BackendTarget, BuiltinTarget, Target, WorkflowTarget } from './target.ts';
export { type TaskName, readTaskId, taskIdOf } from './task-id.ts';
export { type WorkflowTaskName, readWorkflowTaskId, shownName, workflowTaskId } from './workflow-task-id.ts';
export type {
  ResourceListener,
  SubscriptionRights,
  TaskEvents,
  TaskListener,
  WatchResource,
  Watcher,
  WatchTasks,
  Watching,
} from './watches.ts';
