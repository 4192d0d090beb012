export { BackendSet, type WantedBackend } from './backend-set.ts';
export type { Backend } from './backend.ts';
export type { BackendDeps } from './backend-settings.ts';
export type { BackendState } from './monitor.ts';
export { CallerLinks } from './caller-links.ts';
export { SessionLinks } from './session-links.ts';
export type { LinkMemory } from './session-memory.ts';
