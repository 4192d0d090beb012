import { type KubeObject, type ObjectKey, keyOf } from '../object.ts';
import { type Contract, newContract } from '../plan/contract.ts';
import { lookedUpKinds, referenceKind } from '../plan/references.ts';
import type { ServerBundle } from '../plan/server/bundle.ts';
import { planServer, volatileStatus } from '../plan/server/plan-server.ts';
import { isOwnedBy } from '../read/controlled.ts';
import { MEMBER_KINDS, groupNameOf, resolveServer } from '../read/resolve.ts';
import type { Source } from '../read/source.ts';
import type { ReconciledKind } from './kind.ts';
import { type Referrers, type Targets, memoizedTargets, referrers } from './referrers.ts';
import { mayServeAcceptedSpec, sharingServersOf, withPolicies } from './served.ts';

const KIND = 'VirtualMCPServer';

export const virtualMcpServer = (
  contract: Contract = newContract(),
  targetsOf: Targets = memoizedTargets(),
): ReconciledKind<ServerBundle> => {
  const named = lookedUpKinds(KIND);
  const withEffect = new Set([...named, ...MEMBER_KINDS, 'Service']);
  const naming = {
    servers: referrers(targetsOf, mayServeAcceptedSpec(['ExternalAuthConfigResolved', 'SecretResolved'])),
    members: referrers(targetsOf),
  };
  return {
    kind: KIND,
    owns: ['ServiceAccount', 'Service', 'ConfigMap', 'Deployment'],
    reads: [...named, ...MEMBER_KINDS.filter((kind) => !named.includes(kind)), 'ReplicaSet', 'Pod'],
    volatileStatus,
    resolve: resolveServer,
    complete: withPolicies,
    plan: (bundle, settings) => planServer(bundle, { settings, contract }),
    affectedBy: (source, changed) => {
      const sharing = sharingServersOf(KIND, source, changed);
      return withEffect.has(changed.kind) ? [...sharing, ...affectedBy(source, changed, naming)] : sharing;
    },
  };
};

interface Naming {
  readonly servers: Referrers;
  readonly members: Referrers;
}

/** Who refers to it, and who serves the groups that it has an effect on. */
const affectedBy = (source: Source, changed: KubeObject, naming: Naming): readonly ObjectKey[] => {
  const { namespace, name } = keyOf(changed);
  const servers = source.list(KIND, namespace);
  const targets = [
    // No server names a Service: it concerns them by the member that it misleads to.
    ...(changed.kind === 'Service' ? [] : [{ kind: referenceKind(changed.kind), name }]),
    ...groupsTouched(source, changed, naming.members).map((group) => ({ kind: 'MCPGroup', name: group })),
  ];
  return [...new Set(targets.flatMap((target) => naming.servers(servers, target)))].map(keyOf);
};

/** A member is served with its group, and so is how it is authenticated to. */
const groupsTouched = (source: Source, changed: KubeObject, members: Referrers): readonly string[] => {
  const { kind, namespace, name } = keyOf(changed);
  if ((MEMBER_KINDS as readonly string[]).includes(kind)) return [groupNameOf(changed) ?? []].flat();
  if (kind === 'Service') {
    const member = memberUnder(source, changed);
    return member === undefined ? [] : [groupNameOf(member) ?? []].flat();
  }
  if (kind !== 'MCPExternalAuthConfig') return [];
  const using = MEMBER_KINDS.flatMap((each) => members(source.list(each, namespace), { kind, name }));
  return [...new Set(using.flatMap((member) => groupNameOf(member) ?? []))];
};

/** The member that this Service, which is not its own, has the name of. */
const memberUnder = (source: Source, service: KubeObject): KubeObject | undefined => {
  const { namespace = '', name } = service.metadata;
  const [, prefix = '', member = ''] = /^(mcpserver|mcpremoteproxy)-(.+)$/.exec(name) ?? [];
  const kind = MEMBER_KINDS.find((each) => each.toLowerCase() === prefix);
  const found = kind === undefined ? undefined : source.get(kind, namespace, member);
  return found === undefined || isOwnedBy(service, found) ? undefined : found;
};
