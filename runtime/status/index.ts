/**
 * The shape of `/status`, which the operator reads from every pod and writes into the status of the server.
 */

export type {
  AuthServerReport,
  BackendReport,
  BackendStatus,
  CircuitState,
  CollisionReport,
  IncompleteReport,
  MismatchedReport,
  SessionStoreReport,
  StatusReport,
  UnmatchedReport,
  UnresolvedReport,
  UnusualReport,
} from './report.ts';
