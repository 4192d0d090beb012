import type { Call, Target } from '../call.ts';

/** No limits configured. */
export const unlimited = (_call: Call, _target: Target): void => {};
