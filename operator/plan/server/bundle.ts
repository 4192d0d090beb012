import type { KubeObject } from '../../object.ts';
import type { PodReports } from '../../read/source.ts';
import type { ResolvedReference } from '../references.ts';
import type { RunningWorkload } from '../workload/standing.ts';
import type { Accepted } from './accepted.ts';
import type { Shared } from './uniqueness.ts';

/** Everything that decides what the world of one server should be: a VirtualMCPServer, or a kind with one backend. */
export interface ServerBundle {
  readonly server: KubeObject;
  /** What the newest spec refers to. */
  readonly references: readonly ResolvedReference[];
  /** The groups that the newest and the accepted spec name, by name. */
  readonly groups: ReadonlyMap<string, GroupView>;
  /** Why it is not planned: it would have more backends than everybody's operator can bear. Without it, groups are missing here. */
  readonly tooManyBackends?: string;
  /** The MCPExternalAuthConfigs that members of these groups name. */
  readonly memberAuth: readonly ResolvedReference[];
  readonly accepted: (Accepted & { readonly references: readonly ResolvedReference[] }) | undefined;
  readonly children: ServerChildren;
  /** Services of somebody else, under the names of those that would lead to backends. */
  readonly strangers: readonly KubeObject[];
  /** The pods of the container that the runtime stands in front of. */
  readonly behind?: RunningWorkload;
  /** What runs its container under its own name: a runtime is asked for, and none stands in front yet. */
  readonly inTheOpen?: KubeObject;
  /** What it has under its own name that is not its runtime: a Deployment, a StatefulSet, pods. */
  readonly unguarded?: readonly KubeObject[];
  /** What it has in common with other servers of the namespace, and each should have alone. */
  readonly shared: readonly Shared[];
  readonly reports: PodReports;
}

/** A group as it is now; `group` is undefined when nobody made it. */
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
