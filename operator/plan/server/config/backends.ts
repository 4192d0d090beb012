import { fieldsOf } from '../../../../crds/index.ts';
import type { KubeObject } from '../../../object.ts';
import { urlProblem } from '../../../validate/backend-url.ts';
import { leftOutReason, violationsOf } from '../../../validate/index.ts';
import type { Contract } from '../../contract.ts';
import { type BackendConfigEntry, type ServerSpec, type Strategies, sourceOf } from '../../server-spec.ts';
import { type Settings, mappedUrl } from '../../settings.ts';
import type { WrittenSpec } from '../../written-spec.ts';
import type { KeyRef } from '../bundle.ts';
import { caBundlePath } from '../objects/mounted-files.ts';
import { childName } from '../objects/names.ts';
import { backendAuth, typeInConfig } from './backend-auth.ts';
import { contactFields, memberSpec } from './contact-fields.ts';
import { headerForward } from './header-forward.ts';
import {
  type CheckedBackend,
  type Withheld,
  authUnusable,
  refusalOf,
  refused,
  serviceTakenPerStatus,
  serviceTaken,
  servesWithoutAuth,
  whyNotContacted,
  withheldFor,
} from './check-backend.ts';
import { servedPath, workloadUrl } from './member-address.ts';
import type { AuthConfigs, BackendAuth } from './named-auth.ts';
import { isAtItsService } from './proxy-auth.ts';

/** A backend of the server: rendered for the runtime, or withheld from it with the reason. */
export interface PlannedBackend {
  readonly name: string;
  /** Kind of the group member it stands for; absent for an entry of `config.backends`. */
  readonly kind?: string;
  readonly url?: string;
  /** The entry in the runtime's file; absent when the backend is withheld. */
  readonly entry?: BackendConfigEntry;
  readonly withheld?: Withheld;
  /** How it is authenticated to. */
  readonly auth?: BackendAuth;
  /** Without `auth`: the type of its strategy in `config.outgoingAuth`, where that has one. */
  readonly typeInConfig?: string;
  /** The same as the runtime's file spells it. */
  readonly strategy?: Strategies[string];
  /** Certificates that its own is verified against. */
  readonly caBundle?: KeyRef;
}

/**
 * docs/decisions.md "Unavailable backends in lists": a backend withheld by a configuration error is unavailable. Not so
 * a name that another backend serves under, nor what local mode cannot run at all.
 */
export const whyDown = ({ withheld }: PlannedBackend): Withheld | undefined =>
  withheld?.reason === 'NameTaken' || withheld?.reason === 'NeedsCluster' ? undefined : withheld;

/** `inline` with entries of its own serves exactly those, as written: docs/decisions.md "Two files, one snapshot" */
export const hasStaticBackends = (spec: ServerSpec): boolean =>
  sourceOf(spec) === 'inline' && (spec.config?.backends?.length ?? 0) > 0;

export const staticBackends = (
  members: readonly KubeObject[],
  { spec, authConfigs, foreignServices, settings, contract }: DiscoveryInput,
): readonly PlannedBackend[] =>
  (spec.config?.backends ?? []).map((backend) => {
    const { name } = backend;
    const said = inGroup(located(backend, settings), spec);
    const { url } = said;
    // A URL that is refused may hold credentials: it is not repeated.
    if (urlProblem(url) !== undefined) return { name };
    const member = members.find(({ metadata }) => metadata.name === name);
    const auth = spec.outgoingAuth && backendAuth({ name, url, member }, { spec, authConfigs, settings });
    const entry = withRelay(said, auth);
    const type = auth === undefined ? typeInConfig(name, spec) : undefined;
    const candidate = { label: `config.backends ${name}`, entry, auth, typeInConfig: type, contract };
    const isMember = member !== undefined && isAtItsService(member, url, settings);
    const withheld =
      (isMember ? behindForeignService({ ...candidate, member, foreignServices, settings }) : undefined) ??
      whyNotContacted(candidate) ??
      servesWithoutAuth(candidate, member);
    const known = { name, url, ...(auth && { auth }), ...(type !== undefined && { typeInConfig: type }) };
    if (withheld !== undefined) return { ...known, withheld };
    return { ...known, entry, ...strategyIn(auth), ...(member && caBundleIn(member)) };
  });

const strategyIn = (auth: BackendAuth | undefined): Pick<PlannedBackend, 'strategy'> =>
  auth?.strategy === undefined ? {} : { strategy: auth.strategy };

const withRelay = (entry: BackendConfigEntry, auth: BackendAuth | undefined): BackendConfigEntry =>
  auth?.isRelayed === true ? { ...entry, relaysCredentials: true } : entry;

/** The spec with the backends of its list where they really run. */
export const withLocatedBackends = (spec: WrittenSpec, settings: Settings): WrittenSpec => {
  const { config } = fieldsOf(['VirtualMCPServer'], { spec });
  if (settings.local === undefined || config?.backends === undefined) return spec;
  return { ...spec, config: { ...config, backends: config.backends.map((each) => located(each, settings)) } };
};

/** `metadata` of docs/configuration.md "backends"; the key `group` is set by the service, whatever was given. */
const inGroup = (backend: BackendConfigEntry, { groupRef }: ServerSpec): BackendConfigEntry => ({
  ...backend,
  metadata: { ...backend.metadata, group: groupRef.name },
});

const located = (backend: BackendConfigEntry, settings: Settings): BackendConfigEntry => ({
  ...backend,
  url: mappedUrl(settings, backend.name) ?? backend.url,
});

export interface DiscoveryInput {
  readonly spec: ServerSpec;
  readonly authConfigs: AuthConfigs;
  /** Foreign Services that have the names of Services of members. */
  readonly foreignServices: readonly KubeObject[];
  readonly settings: Settings;
  readonly contract: Contract;
}

/** One backend per member of the group, in name order. */
export const discoveredBackends = (
  members: readonly KubeObject[],
  { spec, authConfigs, foreignServices, settings, contract }: DiscoveryInput,
): readonly PlannedBackend[] => {
  const holders = new Map(members.toReversed().map((member) => [member.metadata.name, member]));
  return members.map((member) => {
    const url = urlOf(member, settings);
    const isSafe = url !== undefined && urlProblem(url) === undefined;
    const { name } = member.metadata;
    const auth = backendAuth({ name, url, member }, { spec, authConfigs, settings });
    const entry = isSafe ? withRelay(entryOf(member, url, settings), auth) : undefined;
    const type = auth === undefined ? typeInConfig(name, spec) : undefined;
    const label = `${member.kind} ${name}`;
    const checked = { label, entry, auth, typeInConfig: type, contract };
    const withheld = whyWithheld({ ...checked, member, holders, foreignServices, settings });
    return {
      name,
      kind: member.kind,
      // A URL that is refused may hold credentials: it is not repeated.
      ...(isSafe && { url }),
      ...(auth !== undefined && { auth }),
      ...(type !== undefined && { typeInConfig: type }),
      ...(withheld === undefined
        ? entry !== undefined && { entry, ...strategyIn(auth), ...caBundleIn(member) }
        : { withheld }),
    };
  });
};

/** Where it runs: as local mode maps it, else what the manifest says, else its Service. */
const urlOf = (member: KubeObject, settings: Settings): string | undefined => {
  const mapped = mappedUrl(settings, member.metadata.name);
  if (mapped !== undefined) return mapped;
  return member.kind === 'MCPServerEntry' ? memberSpec(member).remoteUrl : workloadUrl(member, settings);
};

const entryOf = (member: KubeObject, url: string, settings: Settings): BackendConfigEntry => {
  const { name } = member.metadata;
  const { caBundleRef, groupRef, headerForward: headers } = contactFields(member, settings);
  return {
    name,
    url,
    transport: transportOf(member, settings),
    ...(member.kind === 'MCPServerEntry' && { type: 'entry' }),
    ...(caBundleRef && { caBundlePath: caBundlePath(name, caBundleRef.configMapRef, settings) }),
    ...(headers && { headerForward: headerForward(headers, settings) }),
    // `metadata` of docs/configuration.md "backends"; the key `group` is set by the service.
    metadata: { group: groupRef?.name ?? '' },
  };
};

const transportOf = (member: KubeObject, settings: Settings): BackendConfigEntry['transport'] => {
  const isOurs = member.kind === 'MCPServer' && mappedUrl(settings, member.metadata.name) === undefined;
  const isSse = isOurs ? servedPath(member) === '/sse' : contactFields(member, settings).transport === 'sse';
  return isSse ? 'sse' : 'streamable-http';
};

const caBundleIn = (member: KubeObject): Pick<PlannedBackend, 'caBundle'> => {
  const { caBundleRef } = memberSpec(member);
  return caBundleRef === undefined ? {} : { caBundle: caBundleRef.configMapRef };
};

/** A member of the group. */
interface Candidate extends CheckedBackend {
  readonly member: KubeObject;
  /** Who has each name: the first member that asks for it. */
  readonly holders: ReadonlyMap<string, KubeObject>;
  readonly foreignServices: readonly KubeObject[];
  readonly settings: Settings;
}

/** Reasons not to contact a member, in the order they are looked for; the first one counts. */
const POLICIES: readonly ((candidate: Candidate) => Withheld | undefined)[] = [
  notHeld,
  nameTaken,
  behindForeignService,
  unsafeUrl,
  noWorkload,
  unsupported,
  brokenEntry,
  authUnusable,
  refused,
  withoutFront,
];

const whyWithheld = (candidate: Candidate): Withheld | undefined => {
  for (const policy of POLICIES) {
    const withheld = policy(candidate);
    if (withheld !== undefined) return withheld;
  }
  return undefined;
};

/** A member whose spec is not held would be contacted without the authentication that it asks for. */
function notHeld({ label, member }: Candidate): Withheld | undefined {
  const why = leftOutReason(member);
  return withheldFor(label, why === undefined ? [] : [refusalOf(why)]);
}

/**
 * docs/decisions.md "Names of tools": members come in the order MCPServer, MCPRemoteProxy, MCPServerEntry where they
 * share a name.
 */
function nameTaken({ member, holders }: Candidate): Withheld | undefined {
  const holder = holders.get(member.metadata.name);
  if (holder === undefined || holder === member) return undefined;
  const message = `${member.kind} ${member.metadata.name}: the name belongs to the ${holder.kind} of the same group; rename one of them`;
  return { reason: 'NameTaken', message };
}

function behindForeignService({
  label,
  member,
  foreignServices,
  settings,
}: Pick<Candidate, 'label' | 'member' | 'foreignServices' | 'settings'>): Withheld | undefined {
  if (settings.local !== undefined) return undefined;
  return serviceTaken(label, childName(member), foreignServices) ?? serviceTakenPerStatus(label, member);
}

function unsafeUrl({ member, settings }: Candidate): Withheld | undefined {
  const url = urlOf(member, settings);
  const problem = url === undefined ? undefined : urlProblem(url);
  if (problem === undefined) return undefined;
  return { reason: 'Invalid', message: `${member.kind} ${member.metadata.name}: the URL ${problem}` };
}

/** A member that runs containers, and nothing that says where it runs. */
function noWorkload({ member, entry, settings }: Candidate): Withheld | undefined {
  if (entry !== undefined || settings.local === undefined) return undefined;
  const { name } = member.metadata;
  const message = `${member.kind} ${name}: needs containers; start it yourself and map it with --backend ${name}=URL`;
  return { reason: 'NeedsCluster', message };
}

/** An MCPServer of which the runtime that asks for credentials is not in front yet. */
function withoutFront(candidate: Candidate): Withheld | undefined {
  return servesWithoutAuth(candidate, candidate.member);
}

/** Contacting a backend without what its manifest asks for (authentication, headers, a CA) would fail open. */
function unsupported({ label, member, settings, contract }: Candidate): Withheld | undefined {
  return withheldFor(label, contract.unsupportedFields(member.kind, contactFields(member, settings)));
}

/**
 * An entry that breaks a rule would be contacted without what the rule is about. Of a member with pods a refused spec
 * says nothing: they go on by the one that was accepted.
 */
function brokenEntry({ label, member }: Candidate): Withheld | undefined {
  if (member.kind !== 'MCPServerEntry') return undefined;
  // The URL is validated where it is known which one counts.
  const wrong = violationsOf(member, () => undefined).filter(({ conditionReason }) => conditionReason !== 'InvalidUrl');
  return withheldFor(label, wrong.map(refusalOf));
}
