import { fieldsOf } from '../../../../crds/index.ts';
import { canonicalResource } from '../../../../runtime/config/index.ts';
import { compareText } from '../../../../runtime/text.ts';
import type { KubeObject } from '../../../object.ts';
import { leftOutReason } from '../../../validate/unreadable.ts';
import { type ProblemType, problem } from '../../conditions.ts';
import type { PlannedCondition } from '../../plan.ts';
import type { Reason } from '../../reasons.ts';
import { type ServerSpec, serverSpec } from '../../server-spec.ts';
import type { Settings } from '../../settings.ts';
import type { Shared } from '../bundle.ts';
import { serviceNameOf } from '../config/telemetry.ts';

/** The audience of the tokens that a server takes, in the form that is the same for all who mean the same. */
const audienceOf = (server: KubeObject): string | undefined => {
  const audience = oidcConfigOf(server)?.audience;
  return audience === undefined ? undefined : canonicalResource(audience);
};

const oidcConfigOf = (server: KubeObject): { readonly audience: string } | undefined => {
  if (server.kind !== AGGREGATOR) return fieldsOf(['MCPServer', 'MCPRemoteProxy'], server).oidcConfigRef;
  const { incomingAuth } = serverSpec(server);
  return incomingAuth.type === 'oidc' ? incomingAuth.oidcConfigRef : undefined;
};

const AGGREGATOR = 'VirtualMCPServer';

const serviceName = (server: KubeObject): string | undefined => {
  if (server.kind !== AGGREGATOR) return undefined;
  const spec = serverSpec(server);
  return spec.telemetryConfigRef && serviceNameOf(server, spec);
};

/** What each server should have of its own (docs/decisions.md "Audience and client id", "Telemetry service name"). */
const OWN: readonly Own[] = [
  {
    of: audienceOf,
    type: 'AudienceShared',
    reason: 'SameAudience',
    tell: (value, others) =>
      `${others} of this namespace takes tokens for the audience ${value}, too, so that a token for one is good for the other; give each its own oidcConfigRef.audience`,
  },
  {
    of: serviceName,
    type: 'ServiceNameShared',
    reason: 'SameServiceName',
    tell: (value, others) =>
      `${others} of this namespace reports telemetry as ${value}, too; give each its own telemetryConfigRef.serviceName`,
  },
];

interface Own {
  readonly of: (server: KubeObject) => string | undefined;
  readonly type: ProblemType;
  readonly reason: Reason;
  readonly tell: (value: string, others: string) => string;
}

/** Nothing is known of a server whose spec is not held. */
const valueIn = (server: KubeObject, { of }: Own): string | undefined =>
  leftOutReason(server) === undefined ? of(server) : undefined;

/** Of `servers`, all of one namespace, the others that have something in common with it that each should have alone. */
export const sharingServers = (server: KubeObject, servers: readonly KubeObject[]): readonly KubeObject[] => {
  const own = OWN.map((each) => valueIn(server, each));
  if (own.every((value) => value === undefined)) return [];
  return servers.filter(
    (other) =>
      (other.kind !== server.kind || other.metadata.name !== server.metadata.name) &&
      other.metadata.deletionTimestamp === undefined &&
      OWN.some((each, index) => own[index] !== undefined && valueIn(other, each) === own[index]),
  );
};

/** The values that must be unique and that other servers of the namespace have, too, with those servers. */
export const sharedValues = (server: KubeObject, servers: readonly KubeObject[]): readonly Shared[] => {
  const sharing = sharingServers(server, servers);
  return OWN.flatMap((each) => {
    const { type } = each;
    const value = valueIn(server, each);
    if (value === undefined) return [];
    const others = sharing
      .filter((other) => valueIn(other, each) === value)
      .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    return others.length === 0 ? [] : [{ type, value, others: others.sort(compareText).slice(0, NAMED + 1) }];
  });
};

/**
 * docs/decisions.md "Audience and client id". An API server takes tokens for its own issuer unless it is told other
 * audiences (`--api-audiences`), which are published nowhere.
 */
export const audienceOfApiServer = (
  server: Pick<ServerSpec, 'incomingAuth'>,
  { clusterIssuer }: Pick<Settings, 'clusterIssuer'>,
): PlannedCondition | undefined => {
  const { type, oidcConfigRef } = server.incomingAuth;
  if (type === 'anonymous' || oidcConfigRef === undefined || oidcConfigRef.audience !== clusterIssuer?.issuer)
    return undefined;
  const message = `the API server takes tokens for the audience ${oidcConfigRef.audience}, too, so that whoever is sent one may act in the cluster with it; give the server an audience of its own in oidcConfigRef.audience`;
  return problem('AudienceOfApiServer', 'SameAudience', message);
};

/** A warning condition names the other server: docs/decisions.md "Audience and client id" */
export const sharedConditions = (shared: readonly Shared[]): readonly PlannedCondition[] =>
  OWN.flatMap(({ type, reason, tell }) =>
    shared
      .filter((each) => each.type === type)
      .map(({ value, others }) => problem(type, reason, tell(value, firstOf(others)))),
  );

/** No count, so that one more among many changes no status. */
const firstOf = (names: readonly string[]): string =>
  names.length > NAMED ? `${names.slice(0, NAMED).join(', ')} and others` : names.join(', ');

const NAMED = 5;
