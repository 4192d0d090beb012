import type { Planned } from '../kinds/plan-everything.ts';
import { isBadNews } from '../plan/conditions.ts';
import type { PlannedCondition } from '../plan/plan.ts';
import { servedNames } from './mappings.ts';

interface ServerStatus {
  readonly phase: string;
  readonly message: string;
  readonly url: string;
  readonly extensions: { readonly toolCount: number };
  readonly conditions: readonly PlannedCondition[];
  readonly discoveredBackends: readonly {
    readonly name: string;
    readonly status: string;
    readonly url?: string;
    readonly message?: string;
  }[];
}

/** The status of every server as people read it in a terminal. */
export const statusText = (planned: readonly Planned[]): string => {
  const servers = planned.filter(({ object }) => object.kind === 'VirtualMCPServer');
  const texts = servers.map(({ object, plan }) =>
    serverText(object.metadata.name, plan.status as unknown as ServerStatus),
  );
  const none = servers.length === 0 ? ['No VirtualMCPServer in this directory.\n'] : [];
  return [...none, ...texts, ...lostEntries(planned)].join('');
};

/** Entries that no server lists, and why: the terminal shows them nowhere else. */
const lostEntries = (planned: readonly Planned[]): readonly string[] => {
  const served = new Set(servedNames(planned));
  return planned.flatMap(({ object, plan }) => {
    if (object.kind !== 'MCPServerEntry' || served.has(object.metadata.name)) return [];
    const { phase, conditions } = plan.status as unknown as Pick<ServerStatus, 'phase' | 'conditions'>;
    const why = conditions
      .filter(({ type, status }) => status === 'False' && type !== 'Ready')
      .map(({ message }) => message);
    return why.length === 0 ? [] : [`! MCPServerEntry ${object.metadata.name}  ${phase}: ${why.join('; ')}\n`];
  });
};

const serverText = (name: string, status: ServerStatus): string => {
  const width = Math.max(0, ...status.discoveredBackends.map((backend) => backend.name.length));
  const backends = status.discoveredBackends.map((backend) => {
    const detail = backend.message ?? backend.url ?? '';
    return `  ${backend.name.padEnd(width)}  ${backend.status.padEnd(11)}  ${detail}\n`;
  });
  const problems = status.conditions.filter(isTold).map(({ type, message }) => `  ! ${type}: ${message}\n`);
  const facts = [`${status.extensions.toolCount} tools`, ...(status.phase === 'Ready' ? [] : [status.message])];
  const head = `${name}  ${status.phase}  ${status.url}  ${facts.join('; ')}\n`;
  return [head, ...backends, ...problems].join('');
};

const isTold = (condition: PlannedCondition): boolean => isBadNews(condition) && !TOLD_OTHERWISE.has(condition.type);

/** Phase, message and backends tell them. A Secret may be an environment variable here. */
const TOLD_OTHERWISE: ReadonlySet<string> = new Set(['BackendsRoutable', 'Ready', 'SecretResolved', 'Valid']);
