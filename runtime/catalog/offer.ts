import type { Call, Caller, Target } from '../call.ts';
import type { BackendStatus } from '../status-report.ts';
import { VmcpError } from '../errors.ts';
import { buildCatalog, type Catalog, type SourceTool } from './catalog.ts';
import { conflictRule, type NamingSettings } from './conflict-rules.ts';

export interface OfferSettings {
  readonly naming: NamingSettings;
  readonly partialFailureMode: 'fail' | 'best_effort';
  /** How long lists wait for backends that have not been heard of yet. */
  readonly waitForUnknownMs: number;
}

export interface OfferDeps {
  readonly settings: () => OfferSettings;
  readonly backends: () => readonly OfferedBackend[];
  /** Resolves once every backend has been heard of, or after `timeoutMs`. */
  readonly settled: (timeoutMs: number) => Promise<void>;
}

/** A backend as its own room sees it now. */
export interface OfferedBackend {
  readonly name: string;
  readonly status: BackendStatus;
  /** Why it is not ready. */
  readonly message?: string;
  /** It is not contacted at all, so its names are not known. */
  readonly isWithheld?: boolean;
  /** Its last good list. */
  readonly tools?: readonly SourceTool[];
}

/** What is offered now: one frozen catalog, replaced as a whole whenever backends or settings have changed. */
export interface Offer {
  readonly catalog: () => Catalog;
  readonly rebuild: () => void;
  /** JSON text of the result of `tools/list` for this caller. Throws `lists_unavailable` under `partialFailureMode: fail`. */
  readonly listTools: (cursor: string | undefined, caller: Caller) => Promise<Buffer>;
  /** Throws `unknown_name`, or `backend_unavailable` where the name tells that it belongs to a backend that is withheld. */
  readonly lookUp: (call: Call) => Target | Promise<Target>;
}

export const makeOffer = (deps: OfferDeps): Offer => {
  const { settings, backends } = deps;
  const build = (): Catalog => buildCatalog(backends().map(asSource), conflictRule(settings().naming));
  let catalog = build();
  /** What this caller is offered; the same for all, as long as no backend's list depends on who asks. */
  const offeredTo = (_caller: Caller): Catalog => catalog;
  const unknown = (name: string): never => {
    const owner = conflictRule(settings().naming).ownerOf(
      name,
      backends().map((backend) => backend.name),
    );
    if (backends().some((backend) => backend.name === owner && backend.isWithheld))
      throw new VmcpError('backend_unavailable', `backend "${owner}" is not served`);
    throw new VmcpError('unknown_name', 'unknown tool');
  };
  const settled = (): Promise<void> => deps.settled(settings().waitForUnknownMs);
  return {
    catalog: () => catalog,
    rebuild: () => {
      catalog = build();
    },
    listTools: async (cursor, caller) => {
      await settled();
      if (settings().partialFailureMode === 'fail') refuseWhenDown(backends());
      return offeredTo(caller).tools.page(cursor);
    },
    lookUp: ({ name, caller }) => {
      const known = offeredTo(caller).offered.get(name);
      // A client may remember names from before a restart: they are unknown only once every backend has been heard of.
      return known ?? settled().then(() => offeredTo(caller).offered.get(name) ?? unknown(name));
    },
  };
};

const asSource = ({ name, status, tools }: OfferedBackend) => ({
  name,
  isListed: status === 'ready',
  tools: tools ?? [],
});

/** decisions, `partialFailureMode`: a backend that only wants a login is not down. */
const refuseWhenDown = (backends: readonly OfferedBackend[]): void => {
  const down = backends.filter(({ status, tools }) => status === 'unavailable' || (status === 'unknown' && !tools));
  if (down.length === 0) return;
  const names = down.map(({ name }) => `"${name}"`).join(', ');
  throw new VmcpError('lists_unavailable', `the list is incomplete: no answer from ${names}`);
};
