export { API_GROUP, API_VERSION } from './crd.ts';
export { kinds } from './kinds.ts';
export { hasOwnClients } from './mcp-server.ts';
export type { KindDefinition, PrinterColumn } from './kind.ts';
export type { ResourceProblem } from './problem.ts';
export type { Reference } from './refs.ts';
export {
  contractProblems,
  crdManifests,
  parseResource,
  type ParsedResource,
  references,
  referredKinds,
  unsupported,
} from './resources.ts';
export {
  fieldsOf,
  type FieldsOf,
  type Kind,
  type SpecOf,
  specOf,
  type StatusOf,
  statusIn,
  type StoredSpecOf,
  storedSpecOf,
} from './spec-of.ts';
