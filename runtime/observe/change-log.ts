import { LIMITS } from '../limits.ts';
import type { ListKind } from '../listed.ts';
import type { Log } from './log.ts';

export interface SeenBackend {
  readonly name: string;
  readonly status: string;
  readonly message?: string;
  readonly detail?: string;
}

export interface SeenCollision {
  /** Absent: tools. */
  readonly kind?: ListKind;
  readonly name: string;
  readonly keptBy: string;
  readonly lostBy: string;
}

/** What is wrong with names. */
export interface SeenNames {
  readonly collisions: readonly SeenCollision[];
  readonly unresolved: readonly { readonly name: string; readonly backends: readonly string[] }[];
  readonly unmatched: readonly { readonly workload: string; readonly setting: string; readonly tool: string }[];
}

/** Logs what changed since the last time: backends that came back or went away, names that were lost or lead nowhere. */
export const changeLog = (log: Log): ((backends: readonly SeenBackend[], names: SeenNames) => void) => {
  let seen = new Map<string, SeenBackend>();
  const [newCollisions, newUnresolved, newUnmatched] = [
    newcomers<SeenCollision>(),
    newcomers<SeenNames['unresolved'][number]>(),
    newcomers<SeenNames['unmatched'][number]>(),
  ];
  return (backends, { collisions, unresolved, unmatched }) => {
    const changed = backends.filter(({ name, status }) => status !== (seen.get(name)?.status ?? 'unknown'));
    const short = backends.filter(
      ({ name, status, message }) => status === 'ready' && message !== undefined && message !== seen.get(name)?.message,
    );
    seen = new Map(backends.map((backend) => [backend.name, backend]));
    for (const { name: backend, status, message, detail } of changed) {
      if (status === 'ready') log.info({ backend }, 'backend ready');
      else log.warn({ backend, status, reason: message, detail }, 'backend not ready');
    }
    for (const { name: backend, message } of short)
      log.warn({ backend, reason: message }, 'entries left out, clients refuse them');
    const newlyLost = newCollisions(collisions);
    for (const collision of newlyLost.slice(0, LIMITS.reportedCollisions))
      log.warn({ ...collision }, WITHHELD[collision.kind ?? 'tools']);
    const unsaid = newlyLost.length - LIMITS.reportedCollisions;
    if (unsaid > 0) log.warn({ count: unsaid }, 'more withheld, their names are taken');
    for (const contest of newUnresolved(unresolved).slice(0, LIMITS.reportedCollisions))
      log.warn({ ...contest }, 'tools withheld, no override decides who has the name');
    for (const setting of newUnmatched(unmatched).slice(0, LIMITS.reportedCollisions))
      log.warn({ ...setting }, 'setting without effect, the backend has no such tool');
  };
};

const WITHHELD = {
  tools: 'tool withheld, its name is taken',
  prompts: 'prompt withheld, its name is taken',
  resources: 'resource withheld, its URI is taken',
  resourceTemplates: 'resource template withheld, it is taken',
} as const;

/** Which of a list were not in the list before. */
const newcomers = <T>(): ((list: readonly T[]) => readonly T[]) => {
  let known = new Set<string>();
  return (list) => {
    const newOnes = list.filter((each) => !known.has(JSON.stringify(each)));
    known = new Set(list.map((each) => JSON.stringify(each)));
    return newOnes;
  };
};
