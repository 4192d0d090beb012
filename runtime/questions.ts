import { VmcpError } from './errors.ts';

/** What a backend asks the client of a call. */
export interface Question {
  readonly method: string;
  /** JSON text. */
  readonly params: Buffer | undefined;
  /** What the backend calls it, where that is a word. */
  readonly key?: string | undefined;
}

/** What the client answered, as JSON text. */
export type ClientAnswer =
  | { readonly kind: 'result'; readonly result: Buffer }
  | { readonly kind: 'error'; readonly error: Buffer };

/** What a client of 2026-07-28 answers to what it was or will be asked (MCP "Multi Round-Trip Requests"). */
export interface Answered {
  /** `requestState`; undefined: the call begins. */
  readonly state: string | undefined;
  /** JSON text of `inputResponses`; undefined where there are none. */
  readonly answers: Buffer | undefined;
}

/** The state is of no call that waits for the request. */
export const unknownState = (): VmcpError =>
  new VmcpError(
    'invalid_params',
    'params.requestState is of no call that waits for this request: its time is over, or it is another call; make the call again without it',
  );
