import type { PodReports } from '../plan/server/bundle.ts';
import type { Source } from './source.ts';
import type { KubeObject, ObjectKey } from '../object.ts';
import type { Violation } from '../validate/index.ts';
import type { Accepted } from '../plan/server/bundle.ts';

interface ClusterDeps {
  readonly get: (key: ObjectKey) => KubeObject | undefined;
  readonly list: (kind: string, namespace: string) => readonly KubeObject[];
  readonly reports: (owner: ObjectKey) => PodReports;
  readonly brokenRuleOf: (object: KubeObject) => Violation | undefined;
  readonly settled: (namespace: string) => Promise<void>;
  readonly lastProven: (server: KubeObject, proven: Accepted | undefined) => Accepted | undefined;
}

/** Reads from what the informers hold. */
export const clusterSource = (deps: ClusterDeps): Source => ({
  get: (kind, namespace, name) => deps.get({ kind, namespace, name }),
  list: deps.list,
  reports: deps.reports,
  lastProven: deps.lastProven,
  brokenRuleOf: deps.brokenRuleOf,
  settled: deps.settled,
});
