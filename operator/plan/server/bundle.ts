import type { StatusReport } from '../../../runtime/status/index.ts';
import type { KubeObject } from '../../object.ts';
import type { ProblemType } from '../conditions.ts';
import type { ConfigFiles } from '../plan.ts';
import type { ResolvedReference } from '../references.ts';
import type { RunningWorkload } from '../workload/running-workload.ts';
import type { WrittenSpec } from '../written-spec.ts';

/** Everything that the plan of one server depends on: of a VirtualMCPServer, or of a kind with one backend. */
export interface ServerBundle {
  readonly server: KubeObject;
  /** What the newest spec refers to. */
  readonly references: readonly ResolvedReference[];
  /** The groups that the newest and the accepted spec name, by name. */
  readonly groups: ReadonlyMap<string, GroupView>;
  /** Why it is not planned: it has more backends than one server may have. `groups` is empty then. */
  readonly tooManyBackends?: string;
  /** The MCPExternalAuthConfigs that members of these groups name. */
  readonly memberAuth: readonly ResolvedReference[];
  readonly accepted: (Accepted & { readonly references: readonly ResolvedReference[] }) | undefined;
  readonly children: ServerChildren;
  /** Foreign Services that have the names of Services of backends. */
  readonly foreignServices: readonly KubeObject[];
  /** The pods of the container that the runtime stands in front of. */
  readonly backendWorkload?: RunningWorkload;
  /**
   * The Deployment or StatefulSet that runs its container without a runtime in front, although the spec asks for one.
   */
  readonly exposedController?: KubeObject;
  /** Workloads under its own name that are not its runtime: a Deployment, a StatefulSet, pods. */
  readonly bypassWorkloads?: readonly KubeObject[];
  /** Values that other servers of the namespace have, too, although each should have its own. */
  readonly shared: readonly Shared[];
  readonly reports: PodReports;
}

/** A group as it is now; `group` is undefined when there is no such MCPGroup. */
export interface GroupView {
  readonly group: KubeObject | undefined;
  /** In name order; under one name in the order of `MEMBER_KINDS`. */
  readonly members: readonly KubeObject[];
}

/** What exists of a server in the cluster. */
export interface ServerChildren {
  readonly deployment: KubeObject | undefined;
  readonly service: KubeObject | undefined;
  readonly configMaps: readonly KubeObject[];
  readonly replicaSets: readonly KubeObject[];
  readonly pods: readonly KubeObject[];
}

/** Pods that have not been asked yet are missing from the map. */
export type PodReports = ReadonlyMap<string, StatusReport | 'unreachable'>;

/** The last spec that was valid, had every reference and was applied, with the files it is served from. */
export interface Accepted {
  readonly generation?: number;
  readonly written: WrittenSpec;
  /** Absent when another writer has changed them. */
  readonly files?: ConfigFiles;
  /** Where its certificates lie: the files only say where they are mounted, and what named them may be lost. */
  readonly caBundles?: readonly CaBundle[];
  /** Files of its backends: while one is withheld, nothing else names them. */
  readonly backendFiles?: BackendFiles;
}

/** Certificates that something in the config is verified against. */
export interface CaBundle {
  /** What it is for: a backend, or one of `CA_OWNERS`. */
  readonly owner: string;
  readonly configMap: KeyRef;
}

/** One key of a Secret or a ConfigMap. */
export interface KeyRef {
  readonly name: string;
  readonly key: string;
}

/** Files that the config names for a backend, by its name. */
export type BackendFiles = Readonly<Record<string, readonly string[]>>;

/**
 * A value that a server has in common with others, and the first of those: more than are ever named only tell that
 * there are more.
 */
export interface Shared {
  readonly type: ProblemType;
  readonly value: string;
  /** Kind and name of each. */
  readonly others: readonly string[];
}
