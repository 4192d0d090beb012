import type { Call, Target } from '../call.ts';

/** No policies configured: every offered name may be called. */
export const permitAll = (_call: Call, _target: Target): void => {};
