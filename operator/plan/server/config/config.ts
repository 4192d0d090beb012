import type { KubeObject } from '../../../object.ts';
import type { FilesInput } from '../../contract.ts';
import { type BackendConfigEntry, type FoundBackends, type Strategies, sourceOf } from '../../server-spec.ts';
import { hostsOfChild } from '../../workload/child.ts';
import { servedChild } from '../objects/names.ts';
import { aggregation } from './aggregation.ts';
import { authServer } from './auth-server.ts';
import { type PlannedBackend, hasStaticBackends, whyDown } from './backends.ts';
import { compositeTools } from './composite-tools.ts';
import type { IncomingAuth } from './incoming-auth.ts';
import { optimizer } from './optimizer.ts';
import type { PartInput, Value } from './part.ts';
import { sessionStorage, sessionStore } from './session-store.ts';
import { telemetry } from './telemetry.ts';

export interface ConfigInput extends PartInput {
  readonly auth: IncomingAuth;
  readonly backends: readonly PlannedBackend[];
  /** The Service as the cluster knows it: its load balancer may have names. */
  readonly service: KubeObject | undefined;
}

/**
 * Content of `config.yaml`: `spec.config`, under what `spec` itself says (docs/decisions.md "Spec before config"), plus
 * the file-only keys.
 */
const configValue = (input: ConfigInput): Value => {
  const { server, spec } = input;
  const { compositeToolRefs: _refs, ...passedOn } = spec.config ?? {};
  return present({
    ...passedOn,
    name: spec.config?.name ?? server.metadata.name,
    // Empty for a front that is in no group.
    groupRef: spec.groupRef.name || undefined,
    aggregation: aggregation(input),
    compositeTools: compositeTools(input),
    incomingAuth: input.auth.value,
    outgoingAuth: outgoingAuth(input),
    authServer: authServer(spec, server, input.settings),
    backends: hasStaticBackends(spec) ? rendered(input.backends) : undefined,
    sessionStorage: sessionStorage(server, spec),
    telemetry: telemetry(input),
    optimizer: optimizer(input),
    management: management(input),
    extensions: extensions(input),
  });
};

/** What both files say. The backends found in the group are a file of their own, since they change while pods run. */
export const filesInput = (input: ConfigInput): FilesInput => ({
  main: configValue(input),
  found: {
    ...(!hasStaticBackends(input.spec) && {
      outgoingAuth: { backends: strategies(input.backends) },
      backends: rendered(input.backends),
    }),
    withheld: down(input.backends),
  },
});

const down = (backends: readonly PlannedBackend[]): FoundBackends['withheld'] =>
  backends.flatMap((backend) => {
    const why = whyDown(backend);
    return why === undefined ? [] : [{ name: backend.name, message: why.message }];
  });

const rendered = (backends: readonly PlannedBackend[]): readonly BackendConfigEntry[] =>
  backends.flatMap(({ entry }) => (entry === undefined ? [] : [entry]));

/** Of backends that are contacted. */
const strategies = (backends: readonly PlannedBackend[]): Strategies =>
  Object.fromEntries(
    backends.flatMap(({ name, entry, strategy }) =>
      entry === undefined || strategy === undefined ? [] : [[name, strategy]],
    ),
  );

const present = (value: Value): Value =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined));

/** docs/decisions.md "Spec before config". Strategies of discovered backends are in the other file. */
const outgoingAuth = ({ spec, backends }: ConfigInput): unknown => {
  if (spec.outgoingAuth === undefined) return spec.config?.outgoingAuth;
  if (sourceOf(spec) !== 'inline') return undefined;
  return { source: 'inline', ...(hasStaticBackends(spec) && { backends: strategies(backends) }) };
};

/**
 * docs/decisions.md "Management port": without keys in the file it answers on loopback only, which is what a laptop
 * wants.
 */
const management = ({ server, settings }: ConfigInput): Value | undefined =>
  settings.local !== undefined || server.metadata.uid === undefined || settings.operatorKeys.length === 0
    ? undefined
    : { audience: server.metadata.uid, operatorKeys: settings.operatorKeys };

/** Without what is for the operator alone: `service`. */
const extensions = (input: ConfigInput): Value | undefined => {
  const { spec, settings } = input;
  const { service: _service, ...passedOn } = spec.config?.extensions ?? {};
  const allowedHosts = hosts(input);
  const ours = present({
    allowedHosts: allowedHosts.length === 0 ? undefined : allowedHosts,
    sessionStore: sessionStore(spec, settings),
  });
  const all = { ...passedOn, ...ours };
  return Object.keys(all).length === 0 ? undefined : all;
};

/** docs/decisions.md "Hosts and origins"; IP literals and localhost are the runtime's own knowledge. */
const hosts = ({ server, spec, settings, service }: ConfigInput): readonly string[] => {
  const resourceUrl = spec.incomingAuth.oidcConfigRef?.resourceUrl;
  return [
    ...new Set([
      ...(settings.local === undefined ? hostsOfChild(servedChild(server), settings) : []),
      ...loadBalancerHosts(service),
      ...(resourceUrl !== undefined && URL.canParse(resourceUrl) ? [new URL(resourceUrl).hostname] : []),
      ...(spec.config?.extensions?.allowedHosts ?? []),
    ]),
  ];
};

const loadBalancerHosts = (service: KubeObject | undefined): readonly string[] => {
  const status = service?.['status'] as
    | { readonly loadBalancer?: { readonly ingress?: readonly { readonly hostname?: string }[] } }
    | undefined;
  return (status?.loadBalancer?.ingress ?? []).flatMap(({ hostname }) => (hostname === undefined ? [] : [hostname]));
};
