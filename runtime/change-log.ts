import type { BackendSet } from './backends/index.ts';
import type { Catalog } from './catalog/index.ts';
import type { Log } from './observe/index.ts';

/** Logs what an operator of the service wants to know of a change: backends that came back or went away, names that were lost. */
export const changeLog = (log: Log): ((backends: BackendSet, catalog: Catalog) => void) => {
  let statuses = new Map<string, string>();
  let lost = new Set<string>();
  return (backends, { collisions }) => {
    const known = statuses;
    statuses = new Map(backends.all().map(({ name, state }) => [name, state.status]));
    for (const { name, state } of backends.all()) {
      if (state.status === 'unknown' || state.status === (known.get(name) ?? 'unknown')) continue;
      if (state.status === 'ready') log.info({ backend: name, tools: state.tools?.length }, 'backend ready');
      else
        log.warn(
          { backend: name, status: state.status, reason: state.message, detail: state.detail },
          'backend not ready',
        );
    }
    const before = lost;
    lost = new Set(collisions.map((collision) => JSON.stringify(collision)));
    for (const collision of collisions) {
      if (!before.has(JSON.stringify(collision))) log.warn({ ...collision }, 'tool withheld, its name is taken');
    }
  };
};
