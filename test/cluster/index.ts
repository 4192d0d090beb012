export type { AuditedWrite } from './audit.ts';
export { startControlPlane, type ControlPlane } from './control-plane.ts';
export { ALL_PROGRAMS, CONTROL_PLANE_PROGRAMS, ensurePrograms, type Program } from './programs.ts';
export { until } from './until.ts';
