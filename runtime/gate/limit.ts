import type { Access, Target } from '../call.ts';

/** No limits configured. */
export const unlimited = (_access: Access, _target: Target): void => {};
