import type { GroupView, ServerBundle } from '../../resolve.ts';
import { type Refusal, backendsIn, refusalsOf, startupHashOf, unsupportedFields } from '../contract.ts';
import type { ConfigFiles } from '../plan.ts';
import type { Settings } from '../settings.ts';
import {
  type PlannedBackend,
  discoveredBackends,
  hasStaticBackends,
  staticBackends,
  staticRefusals,
} from './backends.ts';
import { configFiles } from './config.ts';
import type { ServerSpec } from './spec.ts';

/** What one spec renders to in today's world, and what speaks against serving it. */
export interface Rendering {
  readonly spec: ServerSpec;
  readonly group: GroupView;
  readonly backends: readonly PlannedBackend[];
  readonly files: ConfigFiles;
  readonly startupHash: string;
  /** References that resolve to nothing, as `kind name`. */
  readonly missing: readonly string[];
  readonly refusals: readonly Refusal[];
}

/** `kept`: the files of the accepted spec, whose keys stand in for a reference of the whole server that went missing. */
export const render = (bundle: ServerBundle, settings: Settings, spec: ServerSpec, kept?: ConfigFiles): Rendering => {
  const group = bundle.groups.get(spec.groupRef.name) ?? { group: undefined, members: [] };
  const backends = backendsOf(spec, group, settings, kept);
  const input = { server: bundle.server, spec, settings, backends, service: bundle.children.service };
  const files = configFiles(input);
  return {
    spec,
    group,
    backends,
    files,
    startupHash: startupHashOf(files),
    missing: group.group === undefined ? [`MCPGroup ${spec.groupRef.name}`] : [],
    refusals: refusals(spec, settings, files),
  };
};

const backendsOf = (
  spec: ServerSpec,
  group: GroupView,
  settings: Settings,
  kept: ConfigFiles | undefined,
): readonly PlannedBackend[] => {
  if (hasStaticBackends(spec)) return staticBackends(spec, settings);
  if (group.group !== undefined) return discoveredBackends(group.members, settings);
  return kept === undefined ? [] : keptBackends(kept);
};

/** Decisions "Last good spec": what came from the lost group stays as it was. */
const keptBackends = (kept: ConfigFiles): readonly PlannedBackend[] =>
  backendsIn(kept).map((entry) => ({ name: entry.name, url: entry.url, entry }));

/** Fields first: they say what the user wrote, the files only what became of it. */
const refusals = (spec: ServerSpec, settings: Settings, files: ConfigFiles): readonly Refusal[] => {
  const written = [...unsupportedFields('VirtualMCPServer', spec), ...staticRefusals(spec, settings)];
  return written.length > 0 ? written : refusalsOf(files);
};

/** Accepted = valid and every reference resolved (decisions "Last good spec"); applied is what its ConfigMap proves. */
export const isAcceptable = ({ missing, refusals }: Rendering): boolean =>
  missing.length === 0 && refusals.length === 0;
