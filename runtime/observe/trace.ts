import type { Around } from '../pipeline.ts';

/** Tracing is off. */
export const noTrace: Around = (_request, next) => next();
