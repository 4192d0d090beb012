import type { Call, Caller, Target } from '../call.ts';
import { VmcpError } from '../errors.ts';
import { LIST_KINDS, type ListKind, type Lists } from '../listed.ts';
import type { BackendStatus } from '../status-report.ts';
import { buildCatalog, type Catalog, type SourceBackend } from './catalog.ts';
import { conflictRule } from './conflict-rules.ts';
import type { Overlay } from './overlay.ts';
import type { ListPages } from './pages.ts';
import type { Listed } from './name-table.ts';
import type { AggregationSettings } from './settings.ts';
import { taskTarget } from './task-target.ts';
import { visibleLists, type Visibility } from './visible.ts';

export interface OfferSettings extends AggregationSettings {
  readonly partialFailureMode: 'fail' | 'best_effort';
  /** How long lists wait for backends that have not been heard of yet. */
  readonly waitForUnknownMs: number;
}

export interface OfferDeps {
  readonly settings: () => OfferSettings;
  readonly backends: () => readonly OfferedBackend[];
  /** Resolves once every backend was asked for its lists, or after `timeoutMs`. */
  readonly settled: (timeoutMs: number) => Promise<void>;
  /** Resolves once every backend has been heard of or is given up for now, or after `timeoutMs`. */
  readonly known: (timeoutMs: number) => Promise<void>;
  /** What the caller's own credential adds (`overlays`); it stands in place of shared backends of the same names. */
  readonly overlay?: (caller: Caller) => Overlay | Promise<Overlay> | undefined;
  /** What of the lists this caller may see; undefined: all. */
  readonly visible?: (caller: Caller) => Visibility | undefined;
}

/** A backend as its own room sees it now. */
export interface OfferedBackend {
  readonly name: string;
  readonly status: BackendStatus;
  /** Why it is not ready. */
  readonly message?: string;
  /** It is not contacted at all, so its names are not known. */
  readonly isWithheld?: boolean;
  /** Its last good lists. */
  readonly lists?: Lists;
}

/** What is offered now: one frozen catalog, replaced as a whole whenever backends or settings have changed. */
export interface Offer {
  /** What all callers share. */
  readonly catalog: () => Catalog;
  readonly rebuild: () => void;
  /**
   * JSON text of the result of a list request of this caller, as revisions before 2026-07-28 have it. Throws `lists_unavailable` under
   * `partialFailureMode: fail`.
   */
  readonly list: (kind: ListKind, cursor: string | undefined, caller: Caller) => Promise<Buffer>;
  /** Throws `unknown_name`, or `backend_unavailable` where the name tells that it belongs to a backend that is withheld. */
  readonly lookUp: (call: Pick<Call, 'names' | 'name' | 'caller'>) => Target | Promise<Target>;
  /** Hears which of the shared lists read differently than before, and nothing otherwise. Returns how to hear no more. */
  readonly onListsChanged: (listener: ListsListener) => () => void;
}

export type ListsListener = (kinds: readonly ListKind[]) => void;

export const makeOffer = (deps: OfferDeps): Offer => {
  let settings = deps.settings();
  let shared = buildCatalog(deps.backends().map(asSource), settings);
  const listeners = new Set<ListsListener>();
  const rebuild = (): void => {
    settings = deps.settings();
    const next = buildCatalog(deps.backends().map(asSource), settings);
    const changed = LIST_KINDS.filter((kind) => !next.lists[kind].isSameAs(shared.lists[kind]));
    // Pages that read the same stay, and are not made again.
    shared = Object.freeze({ ...next, lists: changed.length === 0 ? shared.lists : merged(shared, next, changed) });
    if (changed.length > 0) for (const listener of listeners) listener(changed);
  };
  const joined = joinedCatalogs(deps, () => ({ shared, settings }));
  const offeredTo = (caller: Caller): Offered | Promise<Offered> => {
    const overlay = deps.overlay?.(caller);
    if (overlay === undefined) return { catalog: shared, overlay: NOTHING };
    return overlay instanceof Promise ? overlay.then(joined) : joined(overlay);
  };
  let isStarted = false;
  const settled = async (): Promise<void> => {
    await deps.settled(settings.waitForUnknownMs);
    isStarted = true;
  };
  const known = (): Promise<void> => deps.known(settings.waitForUnknownMs);
  const visible = visibleLists();
  const list: Offer['list'] = async (kind, cursor, caller) => {
    const isStrict = settings.partialFailureMode === 'fail';
    // A backend that comes later delays nobody's lists; under `fail` they would be refused without it.
    if (!isStarted || isStrict) await settled();
    const { catalog, overlay } = await offeredTo(caller);
    if (isStrict) refuseWhenDown(withOverlay(deps.backends(), overlay));
    return visible(catalog.lists, deps.visible?.(caller))[kind].page(cursor);
  };
  const lookUp: Offer['lookUp'] = ({ names, name, caller }) => {
    if (names === 'task') return taskTarget(name, { backends: deps.backends, known });
    const find = ({ catalog }: Offered): Target | undefined => catalog.offered.find(names, name);
    const offered = offeredTo(caller);
    const found = offered instanceof Promise ? offered.then(find) : find(offered);
    // A client may remember names from before a restart, or from another replica: they are unknown only once every backend has been
    // heard of, whose first check may fail in a pod that is as new.
    const again = async (): Promise<Target> => {
      await known();
      return find(await offeredTo(caller)) ?? unknown(deps.backends(), settings, { names, name });
    };
    return found instanceof Promise ? found.then((target) => target ?? again()) : (found ?? again());
  };
  return {
    catalog: () => shared,
    rebuild,
    list,
    lookUp,
    onListsChanged: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
};

const merged = (before: Catalog, next: Catalog, changed: readonly ListKind[]): Catalog['lists'] =>
  Object.freeze({
    ...before.lists,
    ...(Object.fromEntries(changed.map((kind) => [kind, next.lists[kind]])) as Partial<Record<ListKind, ListPages>>),
  });

/** What one caller is offered. */
interface Offered {
  readonly catalog: Catalog;
  readonly overlay: Overlay;
}

const NOTHING: Overlay = [];

/** The shared catalog and an overlay as one; made again only when either has changed. */
const joinedCatalogs = (
  { backends }: OfferDeps,
  now: () => { readonly shared: Catalog; readonly settings: OfferSettings },
): ((overlay: Overlay) => Offered) => {
  const known = new WeakMap<Overlay, { readonly of: Catalog; readonly offered: Offered }>();
  return (overlay) => {
    const { shared, settings } = now();
    const before = known.get(overlay);
    if (before?.of === shared) return before.offered;
    const catalog = buildCatalog(withOverlay(backends(), overlay).map(asSource), settings);
    const offered = { catalog, overlay };
    known.set(overlay, { of: shared, offered });
    return offered;
  };
};

const withOverlay = (backends: readonly OfferedBackend[], overlay: Overlay): readonly OfferedBackend[] => {
  if (overlay.length === 0) return backends;
  const own = new Set(overlay.map(({ name }) => name));
  return [...backends.filter(({ name }) => !own.has(name)), ...overlay];
};

/** decisions: tools of a `degraded` backend stay listed. */
const asSource = ({ name, status, lists }: OfferedBackend): SourceBackend => ({
  name,
  isListed: status === 'ready' || status === 'degraded',
  lists: lists ?? NO_LISTS,
});

const NO_LISTS: Lists = { tools: [], prompts: [], resources: [], resourceTemplates: [] };

const unknown = (
  backends: readonly OfferedBackend[],
  { naming }: OfferSettings,
  { names, name }: { readonly names: Listed; readonly name: string },
): never => {
  const owner =
    names === 'resource'
      ? undefined
      : conflictRule(naming).ownerOf(
          name,
          backends.map((backend) => backend.name),
        );
  if (backends.some((backend) => backend.name === owner && backend.isWithheld))
    throw new VmcpError('backend_unavailable', `backend "${owner}" is not served`);
  throw new VmcpError('unknown_name', `unknown ${names}`);
};

/** decisions, `partialFailureMode`: a backend that only wants a login is not down. */
const refuseWhenDown = (backends: readonly OfferedBackend[]): void => {
  const down = backends.filter(({ status, lists }) => status === 'unavailable' || (status === 'unknown' && !lists));
  if (down.length === 0) return;
  const names = down.map(({ name }) => `"${name}"`).join(', ');
  throw new VmcpError('lists_unavailable', `the list is incomplete: no answer from ${names}`);
};
