import type { BackendSet } from './backends/index.ts';
import { buildCatalog, type Catalog, type NamingRule } from './catalog/index.ts';
import { VmcpError } from './errors.ts';
import type { Call, Target } from './call.ts';

export interface OfferSettings {
  readonly naming: NamingRule;
  readonly partialFailureMode: 'fail' | 'best_effort';
  /** How long lists wait for backends that have not been heard of yet. */
  readonly waitForUnknownMs: number;
}

/** What is offered now: one frozen catalog, replaced as a whole whenever backends or settings have changed. */
export interface Offer {
  readonly catalog: () => Catalog;
  readonly rebuild: () => void;
  /** JSON text of the result of `tools/list`. Throws `lists_unavailable` under `partialFailureMode: fail`. */
  readonly listTools: (cursor: string | undefined) => Promise<Buffer>;
  /** Throws `unknown_name`. */
  readonly lookUp: (call: Call) => Target | Promise<Target>;
}

export const makeOffer = (backends: BackendSet, settings: () => OfferSettings): Offer => {
  const build = (): Catalog => buildCatalog(sourcesOf(backends), settings().naming);
  let catalog = build();
  const settled = (): Promise<void> => backends.settled(settings().waitForUnknownMs);
  return {
    catalog: () => catalog,
    rebuild: () => {
      catalog = build();
    },
    listTools: async (cursor) => {
      await settled();
      if (settings().partialFailureMode === 'fail') refuseWhenDown(backends);
      return catalog.tools.page(cursor);
    },
    lookUp: ({ name }) => {
      const known = catalog.offered.get(name);
      // A client may remember names from before a restart: they are unknown only once every backend has been heard.
      return known ?? settled().then(() => catalog.offered.get(name) ?? unknownName());
    },
  };
};

const unknownName = (): never => {
  throw new VmcpError('unknown_name', 'unknown tool');
};

const sourcesOf = (backends: BackendSet) =>
  backends.all().map(({ name, state }) => ({ name, isListed: state.status === 'ready', tools: state.tools ?? [] }));

/** decisions, `partialFailureMode`: a backend that only wants a login is not down. */
const refuseWhenDown = (backends: BackendSet): void => {
  const down = backends
    .all()
    .filter(({ state }) => state.status === 'unavailable' || (state.status === 'unknown' && !state.tools));
  if (down.length === 0) return;
  const names = down.map(({ name }) => `"${name}"`).join(', ');
  throw new VmcpError('lists_unavailable', `the list is incomplete: no answer from ${names}`);
};
