import { VmcpError } from '../errors.ts';

/** Questions of tools go to the request of the client that waits, and so to none of a task. */
export class Asking {
  #hasAsked = false;
  #isClosed = false;

  /** Throws `client_cannot_answer`. */
  ask(): void {
    if (this.#isClosed) refuseQuestion();
    this.#hasAsked = true;
  }

  /** False: a tool has asked already, and its call is one that waits for answers. */
  close(): boolean {
    this.#isClosed = !this.#hasAsked;
    return this.#isClosed;
  }

  open(): void {
    this.#isClosed = false;
  }
}

/** Throws `client_cannot_answer`. */
export const refuseQuestion = (): never => {
  throw new VmcpError(
    'client_cannot_answer',
    'the tool asked the user while its workflow was a task, which takes questions of elicitation steps alone; ' +
      'have such a step ask before, or call without the extension for tasks',
  );
};
