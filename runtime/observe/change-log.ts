import { clipped } from '../text.ts';
import { LIMITS } from '../limits.ts';
import type { ListKind } from '../mcp/index.ts';
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

/** Problems with names. */
export interface SeenNames {
  readonly collisions: readonly SeenCollision[];
  readonly unresolved: readonly { readonly name: string; readonly backends: readonly string[] }[];
  readonly unmatched: readonly { readonly workload: string; readonly setting: string; readonly tool: string }[];
  /** Composite tools that are not offered, and the tools that they miss. */
  readonly incomplete: readonly { readonly name: string; readonly missing: readonly string[] }[];
  /** Composite tools whose calls are not what the tools that they call take. */
  readonly mismatched: readonly { readonly name: string; readonly problems: readonly string[] }[];
  /** Names with a rate limit that no tool has. */
  readonly unmatchedLimits: readonly string[];
}

/**
 * Logs what has changed since the last call: backends that recovered or failed, names that were lost or match nothing.
 */
export const changeLog = (
  log: Log,
  now: () => number,
): ((backends: readonly SeenBackend[], names: SeenNames) => void) => {
  let seen = new Map<string, SeenBackend>();
  const lines = new BoundedLines(log, now);
  const [newCollisions, newUnresolved, newUnmatched, newIncomplete, newMismatched, newUnmatchedLimits] = [
    newEntries<SeenCollision>(),
    newEntries<SeenNames['unresolved'][number]>(),
    newEntries<SeenNames['unmatched'][number]>(),
    newEntries<SeenNames['incomplete'][number]>(),
    newEntries<SeenNames['mismatched'][number]>(),
    newEntries<string>(),
  ];
  return (backends, { collisions, unresolved, unmatched, incomplete, mismatched, unmatchedLimits }) => {
    const changed = backends.filter(({ name, status }) => status !== (seen.get(name)?.status ?? 'unknown'));
    const short = backends.filter(
      ({ name, status, message }) => status === 'ready' && message !== undefined && message !== seen.get(name)?.message,
    );
    seen = new Map(backends.map((backend) => [backend.name, backend]));
    for (const { name: backend, status, message, detail } of changed) {
      if (status === 'ready') log.info({ backend }, 'backend ready');
      else log.warn({ backend, status, reason: message, detail }, 'backend not ready');
    }
    lines.begin();
    for (const { name: backend, message } of short)
      lines.warn({ backend, reason: message }, 'entries left out, clients refuse them');
    for (const collision of newCollisions(collisions.map((each) => ({ ...each, name: clipped(each.name) }))))
      lines.warn({ ...collision }, WITHHELD[collision.kind ?? 'tools']);
    for (const contest of newUnresolved(unresolved.map((each) => ({ ...each, name: clipped(each.name) }))))
      lines.warn({ ...contest }, 'tools withheld, no override decides who has the name');
    for (const setting of newUnmatched(unmatched))
      lines.warn({ ...setting }, 'setting without effect, the backend has no such tool');
    for (const tool of newIncomplete(missingFor(incomplete, backends)))
      lines.warn({ ...tool }, 'composite tool withheld, tools that it calls are missing');
    for (const tool of newMismatched(mismatched))
      lines.warn({ ...tool }, 'composite tool with arguments that the tools do not take');
    for (const tool of newUnmatchedLimits(unmatchedLimits))
      lines.warn({ tool }, 'rate limit without effect, no tool has this name');
    lines.end();
  };
};

/** What a backend has is known once it was reached: until then, nothing of it is missing. */
const missingFor = (incomplete: SeenNames['incomplete'], backends: readonly SeenBackend[]): SeenNames['incomplete'] => {
  const unasked = backends.flatMap(({ name, status }) => (status === 'unknown' ? [`${name}.`] : []));
  const isMissing = (tool: string): boolean => !unasked.some((prefix) => tool.startsWith(prefix));
  return incomplete.flatMap(({ name, missing }) => {
    const known = missing.filter(isMissing);
    return known.length > 0 ? [{ name, missing: known }] : [];
  });
};

const WINDOW_MS = 60_000;

/**
 * Limits the lines per minute, as backends may change their lists at any rate; a last line says how many were left out.
 */
class BoundedLines {
  readonly #log: Log;
  readonly #now: () => number;
  #since = -Infinity;
  #told = 0;
  #untold = 0;
  #hasCounted = false;

  constructor(log: Log, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  begin(): void {
    if (this.#now() - this.#since < WINDOW_MS) return;
    this.#since = this.#now();
    this.#told = 0;
    this.#hasCounted = false;
  }

  warn(fields: Parameters<Log['warn']>[0], message: string): void {
    if (this.#told === LIMITS.reportedCollisions) this.#untold += 1;
    else this.#log.warn(fields, message);
    this.#told = Math.min(this.#told + 1, LIMITS.reportedCollisions);
  }

  end(): void {
    if (this.#untold === 0 || this.#hasCounted) return;
    this.#log.warn({ count: this.#untold }, 'more names withheld or without effect');
    this.#untold = 0;
    this.#hasCounted = true;
  }
}

const WITHHELD = {
  tools: 'tool withheld, its name is taken',
  prompts: 'prompt withheld, its name is taken',
  resources: 'resource withheld, its URI is taken',
  resourceTemplates: 'resource template withheld, it is taken',
} as const;

/** Finds the entries that were not in the previous list. */
const newEntries = <T>(): ((list: readonly T[]) => readonly T[]) => {
  let known = new Set<string>();
  return (list) => {
    const newOnes = list.filter((each) => !known.has(JSON.stringify(each)));
    known = new Set(list.map((each) => JSON.stringify(each)));
    return newOnes;
  };
};
