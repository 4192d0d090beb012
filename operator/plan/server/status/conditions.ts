import { deprecatedTelemetry, violationText } from '../../../validate/index.ts';
import { type ProblemType, fact, problem, undecided } from '../../conditions.ts';
import type { PlannedCondition } from '../../plan.ts';
import { sourceOf } from '../../server-spec.ts';
import { type PlannedBackend, hasStaticBackends } from '../config/backends.ts';
import { droppedDefinitions } from '../config/composite-tools.ts';
import { isEmbeddingServiceOverridden } from '../config/optimizer.ts';
import { overriddenKeys } from '../config/precedence.ts';
import {
  authServerStorageIgnored,
  healthChecksOverlap,
  literalHeaderValue,
  primaryUpstreamIgnored,
  sessionStorageIgnored,
} from './ineffective.ts';
import { type Phase, notLoggedIn, withoutLogin } from './phase.ts';
import { isRoutable } from './reports.ts';
import { type Fact, type Problem, servedConditions } from './served-conditions.ts';
import type { StatusInput } from './status-input.ts';

export const serverConditions = (statusInput: StatusInput, phase: Phase): readonly PlannedCondition[] =>
  servedConditions(statusInput, phase, {
    facts: [backendsDiscovered, backendsRoutable],
    problems: PROBLEMS,
    reported: [
      'NamesCollide',
      'NamesUnresolved',
      'NamesUnusual',
      'ToolsUnmatched',
      'CompositeToolsIncomplete',
      'CompositeToolsMismatched',
    ],
  });

const backendsDiscovered: Fact = ({ newest, served }) => {
  const { spec, backends } = served ?? newest;
  if (hasNoGroup({ newest, served })) return undecided('BackendsDiscovered', 'GroupNotFound', NO_GROUP);
  if (backends.length === 0) {
    const message = `no member of MCPGroup ${spec.groupRef.name}; an MCPServerEntry joins it by spec.groupRef`;
    return fact('BackendsDiscovered', true, 'NoBackends', message);
  }
  const names = new Set(backends.map(({ name }) => name));
  return fact('BackendsDiscovered', true, 'BackendsFound', [...names].join(', '));
};

/** The group is missing and nothing that came from it earlier is served: `GroupResolved` says so, and warns, once. */
const hasNoGroup = ({ newest, served }: Pick<StatusInput, 'newest' | 'served'>): boolean =>
  served === undefined && newest.group.group === undefined && newest.backends.length === 0;

const NO_GROUP = 'no group to look into';

const backendsRoutable: Fact = ({ backends, newest, served }) => {
  if (hasNoGroup({ newest, served })) return undecided('BackendsRoutable', 'GroupNotFound', NO_GROUP);
  if (backends.length === 0) return fact('BackendsRoutable', true, 'NoBackends', 'no backend that could fail');
  const down = backends.filter(({ status }) => !isRoutable(status));
  if (down.length === 0) {
    const isUsable = withoutLogin(backends).length === 0;
    const message = isUsable ? 'every backend can be used' : `every backend answers; ${notLoggedIn(backends)}`;
    return fact('BackendsRoutable', true, 'AllRoutable', message);
  }
  const unknown = down.filter(({ status }) => status === 'unknown');
  const names = down.map(({ name, status }) => `${name}: ${status}`).join(', ');
  return unknown.length === down.length
    ? undecided('BackendsRoutable', 'NotReported', names)
    : fact('BackendsRoutable', false, 'SomeNotRoutable', names);
};

const withheld =
  (type: ProblemType, reasons: readonly string[]): Problem =>
  ({ newest, served }) => {
    const backends = (served ?? newest).backends.flatMap((each: PlannedBackend) => each.withheld ?? []);
    const [first, ...rest] = backends.filter(({ reason }) => reasons.includes(reason));
    return first && problem(type, first.reason, [first, ...rest].map(({ message }) => message).join('; '));
  };

/** docs/decisions.md "Two files, one snapshot": only `source: inline` serves `config.backends`. */
const staticBackendsIgnored: Problem = ({ newest: { spec } }) =>
  sourceOf(spec) === 'discovered' && (spec.config?.backends?.length ?? 0) > 0
    ? problem(
        'StaticBackendsIgnored',
        'SourceIsDiscovered',
        'config.backends is not served while outgoingAuth.source is discovered; set it to inline, or remove the list',
      )
    : undefined;

const unknownStaticBackend: Problem = ({ newest: { spec, group, backends } }) => {
  if (!hasStaticBackends(spec)) return undefined;
  const members = new Set(group.members.map(({ metadata }) => metadata.name));
  const unknownNames = backends.filter(({ name }) => !members.has(name)).map(({ name }) => name);
  if (unknownNames.length === 0) return undefined;
  const message = `${unknownNames.join(', ')}: no member of MCPGroup ${spec.groupRef.name}, so without authentication from the group`;
  return problem('UnknownStaticBackend', 'NotInGroup', message);
};

const configOverridden: Problem = ({ newest: { spec }, bundle: { server }, settings }) => {
  const pairs = [
    ...overriddenKeys(spec).map((key) => [key, key]),
    ...(isEmbeddingServiceOverridden({ server, spec, settings })
      ? [['embeddingServerRef', 'optimizer.embeddingService']]
      : []),
  ];
  if (pairs.length === 0) return undefined;
  const each = pairs.map(
    ([above, below]) => `spec.${above} takes precedence over spec.config.${below}, which says something else`,
  );
  return problem('ConfigOverridden', 'SpecWins', `${each.join('; ')}; make both say the same`);
};

const namesCollide: Problem = ({ reports: { collisions, collisionCount } }) => {
  if (collisions.length === 0) return undefined;
  const lost = collisions.map(
    ({ kind = 'tools', name, keptBy, lostBy }) => `${KIND_WORDS[kind]}${name}: kept by ${keptBy}, lost by ${lostBy}`,
  );
  if (collisionCount > lost.length) lost.push(`and ${collisionCount - lost.length} more`);
  const isAboutTools = collisions.some(({ kind = 'tools' }) => kind === 'tools');
  const remedy = isAboutTools
    ? 'rename one with config.aggregation.tools[].overrides'
    : 'rename one where its server defines it';
  return problem('NamesCollide', 'NameTaken', `${lost.join('; ')}; ${remedy}`);
};

const KIND_WORDS = {
  tools: '',
  prompts: 'prompt ',
  resources: 'resource ',
  resourceTemplates: 'resource template ',
} as const;

/** docs/decisions.md "Manual conflicts" */
const namesUnresolved: Problem = ({ reports: { unresolved } }) => {
  if (unresolved.length === 0) return undefined;
  const each = unresolved.map(({ name, backends }) => `${name}: withheld from ${backends.join(', ')}`);
  const message = `${each.join('; ')}; rename all but one with config.aggregation.tools[].overrides`;
  return problem('NamesUnresolved', 'OverrideMissing', message);
};

/** A name may be misspelt, or its tool may have gone. */
const toolsUnmatched: Problem = ({ reports: { unmatched } }) => {
  if (unmatched.length === 0) return undefined;
  const each = unmatched.map(({ workload, setting, tool }) => `${workload}: ${setting} names ${tool}`);
  const message = `the backend has no such tool: ${each.join('; ')}; correct the name`;
  return problem('ToolsUnmatched', 'NoSuchTool', message);
};

/** docs/decisions.md "Names of tools": a backend's own part of a name is not rewritten. */
const namesUnusual: Problem = ({ reports: { unusual } }) => {
  if (unusual.length === 0) return undefined;
  const each = unusual.map(({ name, backend }) => `${name} (${backend})`);
  const message = `many clients refuse names with other characters than letters, digits, _ and -: ${each.join(', ')}; rename them with config.aggregation.tools[].overrides, or change prefixFormat`;
  return problem('NamesUnusual', 'UnusualCharacters', message);
};

/** docs/status.md "VirtualMCPServer" */
const compositeToolsIncomplete: Problem = ({ reports: { incomplete } }) => {
  if (incomplete.length === 0) return undefined;
  const each = incomplete.map(({ name, missing }) => `${name}: ${missing.join(', ')}`);
  const message = `not offered, since no backend lists what they call: ${each.join('; ')}; correct the names, or let the backend join the group`;
  return problem('CompositeToolsIncomplete', 'NoSuchTool', message);
};

/** docs/status.md "VirtualMCPServer" */
const compositeToolsMismatched: Problem = ({ reports: { mismatched } }) => {
  if (mismatched.length === 0) return undefined;
  const each = mismatched.map(({ name, problems }) => `${name}: ${problems.join(', ')}`);
  const message = `the input schemas of tools speak against calls of composite tools: ${each.join('; ')}; correct the arguments of the steps`;
  return problem('CompositeToolsMismatched', 'ArgumentsNotTaken', message);
};

/** docs/decisions.md "Names of composite tools" */
const compositeToolsDropped: Problem = ({ newest: { spec }, bundle: { references } }) => {
  const dropped = droppedDefinitions({ spec, references });
  if (dropped.length === 0) return undefined;
  const each = dropped.map(
    ({ definition, workflow, keptBy }) =>
      `VirtualMCPCompositeToolDefinition ${definition} is not offered: ${keptBy} has a tool ${workflow}`,
  );
  return problem('CompositeToolsDropped', 'NameTaken', `${each.join('; ')}; give each workflow its own name`);
};

/** A backend that is named and not there may be misspelt, or its server not made yet. */
const unknownWorkload: Problem = ({ newest: { spec, group, backends } }) => {
  if (group.group === undefined && backends.length === 0) return undefined;
  const { aggregation, operational, extensions } = spec.config ?? {};
  const known = new Set(backends.map(({ name }) => name));
  const named = [
    ...Object.keys(spec.outgoingAuth?.backends ?? {}),
    ...(spec.outgoingAuth === undefined ? Object.keys(spec.config?.outgoingAuth?.backends ?? {}) : []),
    ...(aggregation?.tools ?? []).map(({ workload }) => workload),
    ...(aggregation?.conflictResolutionConfig?.priorityOrder ?? []),
    ...Object.keys(operational?.timeouts?.perWorkload ?? {}),
    ...Object.keys(extensions?.perWorkload ?? {}),
  ];
  const unknownNames = [...new Set(named.filter((name) => !known.has(name)))];
  if (unknownNames.length === 0) return undefined;
  const message = `outgoingAuth.backends, config.aggregation, config.operational.timeouts or config.extensions names ${unknownNames.join(', ')}, which is no backend of this server; correct the name, or let the backend join the group`;
  return problem('UnknownWorkload', 'NoSuchBackend', message);
};

/** Accepted, ignored, and reported: docs/decisions.md "Anonymous access" */
const oidcConfigIgnored: Problem = ({ newest: { spec } }) =>
  spec.incomingAuth.type === 'anonymous' && spec.incomingAuth.oidcConfigRef !== undefined
    ? problem('OidcConfigIgnored', 'AnonymousAccess', 'incomingAuth.type anonymous checks no token; set it to oidc')
    : undefined;

const policiesNotEnforced: Problem = ({ newest: { spec } }) =>
  spec.incomingAuth.type === 'anonymous' && spec.incomingAuth.authzConfig !== undefined
    ? problem(
        'PoliciesNotEnforced',
        'AnonymousAccess',
        'incomingAuth.type anonymous disables all access control; set it to oidc',
      )
    : undefined;

const telemetryDeprecated: Problem = ({ bundle: { server } }) => {
  const [found] = deprecatedTelemetry(server);
  return found && problem('TelemetryDeprecated', 'UseTelemetryConfigRef', violationText(found));
};

const PROBLEMS: readonly Problem[] = [
  withheld('NeedsCluster', ['NeedsCluster']),
  withheld('BackendNameConflict', ['NameTaken']),
  withheld('BackendsWithheld', [
    'NotSupportedYet',
    'Invalid',
    'UnknownField',
    'AuthConfigNotFound',
    'AuthConfigInvalid',
    'ServesWithoutAuth',
    'ServiceTaken',
  ]),
  staticBackendsIgnored,
  unknownStaticBackend,
  configOverridden,
  telemetryDeprecated,
  oidcConfigIgnored,
  policiesNotEnforced,
  primaryUpstreamIgnored,
  literalHeaderValue,
  sessionStorageIgnored,
  authServerStorageIgnored,
  healthChecksOverlap,
  namesCollide,
  namesUnresolved,
  toolsUnmatched,
  namesUnusual,
  compositeToolsDropped,
  compositeToolsIncomplete,
  compositeToolsMismatched,
  unknownWorkload,
];
