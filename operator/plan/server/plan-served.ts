import type { KubeObject } from '../../object.ts';
import { warningsOf } from '../conditions.ts';
import type { Plan, PlannedCondition, PlannedEvent } from '../plan.ts';
import type { ServerSpec } from '../server-spec.ts';
import { settingsIn, type Settings } from '../settings.ts';
import { configHash } from '../shared-config.ts';
import { writtenSpec } from '../written-spec.ts';
import type { Value } from './config/part.ts';
import {
  type PlanDeps,
  type RenderDeps,
  type RenderedShape,
  type Rendering,
  isAcceptable,
  render,
} from './config/render.ts';
import { urlOf } from './objects/names.ts';
import { objectsOf, repairsOf } from './objects/objects.ts';
import type { Phase } from './status/phase.ts';
import { type ReportedShape, type StatusInput, statusInputOf } from './status/status-input.ts';
import type { ServerBundle } from './bundle.ts';
import { statusIn } from '../../../crds/index.ts';

/** What the kinds that the runtime serves differ in; everything else of their plans is the same. */
export interface ServedShape extends RenderedShape, ReportedShape {
  /** Children beside those of the runtime, of the spec that is served; applied before them. */
  objectsOf?(bundle: ServerBundle, served: Rendering, settings: Settings): readonly KubeObject[];
  phaseOf(statusInput: StatusInput): Phase;
  conditionsOf(statusInput: StatusInput, phase: Phase): readonly PlannedCondition[];
  /** Conditions beside those of `conditionsOf` while a child is not as planned. */
  whileNotApplied?(statusInput: StatusInput): Plan['whileNotApplied'];
  /** `common` with the fields that this kind has beside. */
  statusOf(statusInput: StatusInput, common: Value): Value;
}

/** The newest spec is always rendered; what is applied is that, or the last good one while it cannot be served. */
export const planServed = (bundle: ServerBundle, shape: ServedShape, planDeps: PlanDeps): Plan => {
  const { contract } = planDeps;
  const settings = settingsIn(planDeps.settings, bundle.server);
  const deps = { settings, contract, shape };
  const newest = render(bundle, { written: writtenSpec(bundle.server), references: bundle.references }, deps);
  const served = isAcceptable(newest) ? newest : lastGood(bundle, deps);
  const statusInput = statusInputOf({ bundle, settings, newest, served }, shape);
  const phase = shape.phaseOf(statusInput);
  const conditions = shape.conditionsOf(statusInput, phase);
  return {
    ...applied(statusInput, shape),
    ...(isAsked(statusInput) && { statusPollIntervalMs: contract.statusIntervalMs((served ?? newest).spec) }),
    whileNotApplied: shape.whileNotApplied?.(statusInput) ?? [],
    status: { ...shape.statusOf(statusInput, commonStatus(statusInput, phase)), conditions },
    events: eventsOf(phase, conditions),
    ...(served !== undefined && { config: served.files, startupHash: served.startupHash }),
    ...(served !== newest && { withheld: newest.files }),
  };
};

/**
 * A container without a runtime in front is a third party: it gets no token of ours, and its answers are not status.
 */
const isAsked = ({ bundle: { exposedController }, settings, served }: StatusInput): boolean =>
  settings.local === undefined && (served !== undefined || exposedController === undefined);

/** Planned again with today's references, so that a deleted child comes back and a revoked backend goes. */
const lastGood = (bundle: ServerBundle, deps: RenderDeps): Rendering | undefined => {
  if (bundle.accepted === undefined) return undefined;
  const rendering = render(bundle, bundle.accepted, deps);
  // In place of a lost reference stand the accepted files, and those may not be what the operator wrote.
  const isWhole = bundle.accepted.files !== undefined || rendering.unresolved.length === 0;
  return rendering.refusals.length === 0 && isWhole ? rendering : undefined;
};

/** Without a spec that may be served, children stay as they are. */
const applied = (
  { bundle, settings, newest, served }: StatusInput,
  shape: ServedShape,
): Pick<Plan, 'objects' | 'acceptedGeneration' | 'repairs'> => {
  if (settings.local !== undefined) return { objects: [] };
  if (served === undefined) return { repairs: repairsOf(bundle, settings) };
  const generation = served === newest ? bundle.server.metadata.generation : bundle.accepted?.generation;
  const others = shape.objectsOf?.(bundle, served, settings) ?? [];
  const objects = [...others, ...objectsOf(bundle, served, settings, generation)];
  return { objects, ...(generation !== undefined && { acceptedGeneration: generation }) };
};

/** What went wrong, and the end of a way: a server that is waiting is no news. */
const eventsOf = (
  { phase, reason, message }: Phase,
  conditions: readonly PlannedCondition[],
): readonly PlannedEvent[] => [
  ...warningsOf(conditions.filter(({ type }) => type !== 'Ready')),
  ...(phase === 'Ready' ? [{ type: 'Normal' as const, reason, message }] : []),
  ...(phase === 'Failed' ? [{ type: 'Warning' as const, reason, message }] : []),
];

const commonStatus = ({ bundle, settings, newest }: StatusInput, { phase, message }: Phase): Value => {
  const { generation } = bundle.server.metadata;
  return {
    phase,
    message,
    url: urlOf(bundle.server, settings),
    ...(generation !== undefined && { observedGeneration: generation }),
    ...configHashes(bundle, newest.spec),
  };
};

/** docs/decisions.md "Hashes of shared configuration" */
const configHashes = (
  { server, references }: ServerBundle,
  { incomingAuth, telemetryConfigRef }: ServerSpec,
): Readonly<Record<string, string>> => {
  const said = statusIn('VirtualMCPServer', server);
  const hash = (kind: string, ref: { readonly name: string } | undefined, field: keyof typeof said): object => {
    if (ref === undefined) return {};
    const target = references.find((each) => each.kind === kind && each.name === ref.name)?.target;
    // What is lost or broken stays in effect as it was (docs/decisions.md "Last good spec").
    const known = target === undefined ? said[field] : configHash(target);
    return typeof known === 'string' ? { [field]: known } : {};
  };
  return {
    ...hash('MCPOIDCConfig', incomingAuth.oidcConfigRef, 'oidcConfigHash'),
    ...hash('MCPTelemetryConfig', telemetryConfigRef, 'telemetryConfigHash'),
  };
};
