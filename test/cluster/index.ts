export { helm } from './helm.ts';
export type { AuditedWrite } from './audit.ts';
export type { ApiAccess } from './api-access.ts';
export { startControlPlane, type ControlPlane } from './control-plane.ts';
export { startNode, type Node } from './node/node.ts';
export { nodeSupport, skipWithoutNode, type NodeSupport } from './node/support.ts';
export { ALL_PROGRAMS, CONTROL_PLANE_PROGRAMS, NODE_PROGRAMS, ensurePrograms, type Program } from './programs.ts';
export { until } from './until.ts';
export { buildImages, OPERATOR_IMAGE, VMCP_IMAGE, type Images } from './images/build-images.ts';
