import { LIMITS } from '../limits.ts';
import type { Log } from './log.ts';

export interface SeenBackend {
  readonly name: string;
  readonly status: string;
  readonly message?: string;
  readonly detail?: string;
}

export interface SeenCollision {
  readonly name: string;
  readonly keptBy: string;
  readonly lostBy: string;
}

/** Logs what changed since the last time: backends that came back or went away, names that were lost. */
export const changeLog = (
  log: Log,
): ((backends: readonly SeenBackend[], collisions: readonly SeenCollision[]) => void) => {
  let statuses = new Map<string, string>();
  let lost = new Set<string>();
  return (backends, collisions) => {
    const changed = backends.filter(({ name, status }) => status !== (statuses.get(name) ?? 'unknown'));
    const newlyLost = collisions.filter(({ name, lostBy }) => !lost.has(JSON.stringify([name, lostBy])));
    statuses = new Map(backends.map(({ name, status }) => [name, status]));
    lost = new Set(collisions.map(({ name, lostBy }) => JSON.stringify([name, lostBy])));
    for (const { name: backend, status, message, detail } of changed) {
      if (status === 'ready') log.info({ backend }, 'backend ready');
      else log.warn({ backend, status, reason: message, detail }, 'backend not ready');
    }
    for (const collision of newlyLost.slice(0, LIMITS.reportedCollisions))
      log.warn({ ...collision }, 'tool withheld, its name is taken');
    const unsaid = newlyLost.length - LIMITS.reportedCollisions;
    if (unsaid > 0) log.warn({ count: unsaid }, 'more tools withheld, their names are taken');
  };
};
