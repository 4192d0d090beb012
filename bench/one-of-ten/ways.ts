/** What the tenth backend does. */
export type Way = 'well' | 'hangs' | 'breaks off' | 'answers 503' | 'flaps' | 'fails under load';

/** Calls of the clients of the tenth, by what became of them; `refused` by the open circuit. */
export interface Counts {
  readonly answered: number;
  readonly failed: number;
  readonly refused: number;
}

export const FAILING = ['hangs', 'breaks off', 'answers 503', 'flaps', 'fails under load'] as const satisfies Way[];
