import type { Caller, RequestHead } from '../../call/index.ts';

const anonymous: Caller = { kind: 'anonymous' };

/** Incoming auth `anonymous`: every request has the same anonymous caller, whatever it carries. */
export const authenticateAnonymous = (_head: RequestHead): Caller => anonymous;

/** Who was a user under other settings is nobody's user here. */
export const knownAnonymous = (caller: Caller): Caller | undefined =>
  caller.kind === 'anonymous' ? caller : undefined;
