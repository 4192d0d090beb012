import type { Caller, RequestHead } from '../../call/index.ts';

const anonymous: Caller = { kind: 'anonymous' };

/** Incoming auth `anonymous`: every request has the same anonymous caller, whatever it carries. */
export const authenticateAnonymous = (_head: RequestHead): Caller => anonymous;
