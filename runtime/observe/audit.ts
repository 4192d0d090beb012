import type { Around } from '../pipeline.ts';

/** Audit is off: nothing is recorded. */
export const noAudit: Around = (_request, next) => next();
