import type { KubeObject } from '../object.ts';
import { warningsOf, fact, problem } from './conditions.ts';
import type { Plan, PlannedCondition } from './plan.ts';

/** A group and the objects that name it. */
export interface GroupBundle {
  readonly group: KubeObject;
  /** In name order. */
  readonly members: readonly KubeObject[];
}

/** A group has no children: its whole effect is to be a list. */
export const planGroup = ({ group, members }: GroupBundle): Plan => {
  const named = (kind: string): readonly string[] =>
    members.filter((member) => member.kind === kind).map(({ metadata }) => metadata.name);
  const [servers, remoteProxies, entries] = [named('MCPServer'), named('MCPRemoteProxy'), named('MCPServerEntry')];
  const conditions = conditionsOf(members);
  return {
    status: {
      phase: 'Ready',
      ...(group.metadata.generation !== undefined && { observedGeneration: group.metadata.generation }),
      servers,
      remoteProxies,
      entries,
      serverCount: servers?.length ?? 0,
      remoteProxyCount: remoteProxies?.length ?? 0,
      entryCount: entries?.length ?? 0,
      conditions,
    },
    events: warningsOf(conditions),
  };
};

const conditionsOf = (members: readonly KubeObject[]): readonly PlannedCondition[] => {
  const message = members.length === 0 ? 'no object names this group yet' : `members: ${members.length}`;
  const listed = fact('Ready', true, members.length === 0 ? 'NoMembers' : 'MembersListed', message);
  const names = new Set<string>();
  const shared = new Set<string>();
  for (const { metadata } of members) (names.has(metadata.name) ? shared : names).add(metadata.name);
  if (shared.size === 0) return [listed];
  const clash = `${[...shared].join(', ')}: used by members of several kinds; rename one, since backends are told apart by name`;
  return [listed, problem('BackendNameConflict', 'NameTaken', clash)];
};
