import { VmcpError } from '../errors.ts';

/** A request of a backend to the client of a call. */
export interface Question {
  readonly method: string;
  /** JSON text. */
  readonly params: Buffer | undefined;
  /** The backend's name for the question, where its id is a string. */
  readonly key?: string | undefined;
}

/** What the client answered, as JSON text. */
export type ClientAnswer =
  | { readonly kind: 'result'; readonly result: Buffer }
  | { readonly kind: 'error'; readonly error: Buffer };

/** The answers of a client of 2026-07-28 to earlier or expected questions (MCP "Multi Round-Trip Requests"). */
export interface Answered {
  /** `requestState`; undefined: the call is new. */
  readonly state: string | undefined;
  /** JSON text of `inputResponses`; undefined where there are none. */
  readonly answers: Buffer | undefined;
}

/** Begins each `requestState` of a workflow that waits for its client, and none of a held call. */
export const WORKFLOW_STATE = 'workflow.';

/** The error for a `requestState` that belongs to no held call. */
export const unknownState = (): VmcpError =>
  new VmcpError(
    'invalid_params',
    'params.requestState is of no call that waits for this request: its time is over, or it is another call; make the call again without it',
  );
