import type { Access, Target } from '../call/index.ts';

/** No limits configured. */
export const unlimited = (_access: Access, _target: Target): void => {};
