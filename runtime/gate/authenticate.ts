import type { Caller, RequestHead } from '../call.ts';

const anonymous: Caller = { kind: 'anonymous' };

/** Incoming auth `anonymous`: everybody is the same nobody, whatever they send. */
export const authenticateAnonymous = (_head: RequestHead): Caller => anonymous;
