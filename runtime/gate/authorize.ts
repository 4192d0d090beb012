import type { Access, Target } from '../call/index.ts';

/** No policies configured: every offered name may be used. */
export const permitAll = (_access: Access, _target: Target): void => {};
