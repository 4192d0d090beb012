import type { Strategy } from './strategy.ts';

/** Strategy `unauthenticated`: the backend learns nothing about the caller. */
export const unauthenticated = (): Strategy => ({ dependsOnCaller: false, close: async () => {} });
