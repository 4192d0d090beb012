/** What the tenth backend does. */
export type Way = 'well' | 'hangs' | 'breaks off' | 'answers 503' | 'flaps' | 'fails under load';

export const FAILING = ['hangs', 'breaks off', 'answers 503', 'flaps', 'fails under load'] as const satisfies Way[];
