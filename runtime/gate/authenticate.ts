import type { Caller, Inbound } from '../call.ts';

const anonymous: Caller = { kind: 'anonymous' };

/** Incoming auth `anonymous`: everybody is the same nobody, whatever they send. */
export const authenticateAnonymous = (_request: Inbound): Caller => anonymous;
