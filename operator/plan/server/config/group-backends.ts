import { foundIn } from '../../contract.ts';
import type { ConfigFiles } from '../../plan.ts';
import type { GroupView, ServerBundle } from '../bundle.ts';
import {
  type DiscoveryInput,
  type PlannedBackend,
  discoveredBackends,
  hasStaticBackends,
  staticBackends,
} from './backends.ts';
import type { SpecInput } from './part.ts';
import type { PlanDeps, ServedBackends } from './render.ts';

/** The backends of a VirtualMCPServer: those of its list, else the members of its group. */
export const groupBackends = (
  { groups, memberAuth, foreignServices }: ServerBundle,
  input: SpecInput,
  deps: PlanDeps,
): ServedBackends => {
  const { spec, references } = input;
  const group = groups.get(spec.groupRef.name) ?? { group: undefined, members: [] };
  const authConfigs = [...references, ...memberAuth];
  return { group, backends: backendsOf(input, group, { ...deps, spec, authConfigs, foreignServices }) };
};

const backendsOf = (
  { spec, files }: SpecInput,
  { group, members }: GroupView,
  discovery: DiscoveryInput,
): readonly PlannedBackend[] => {
  if (hasStaticBackends(spec)) return staticBackends(members, discovery);
  if (group !== undefined) return discoveredBackends(members, discovery);
  return files === undefined ? [] : keptBackends(files);
};

/** docs/decisions.md "Last good spec": what came from the lost group stays as it was. */
const keptBackends = (kept: ConfigFiles): readonly PlannedBackend[] => {
  const { backends = [], withheld, outgoingAuth } = foundIn(kept);
  const strategies = new Map(Object.entries(outgoingAuth?.backends ?? {}));
  return [
    ...backends.map((entry) => {
      const strategy = strategies.get(entry.name);
      return { name: entry.name, url: entry.url, entry, ...(strategy && { strategy }) };
    }),
    ...withheld.map(({ name, message }) => ({ name, withheld: { reason: 'Invalid' as const, message } })),
  ].sort((a, b) => (a.name < b.name ? -1 : 1));
};
