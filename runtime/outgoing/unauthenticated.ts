import type { Prove } from './fetch.ts';

/** Strategy `unauthenticated`: the backend learns nothing about the caller. */
export const unauthenticated: Prove = () => (next) => next;
