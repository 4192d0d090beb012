import type { Access, Caller, Target } from '../call.ts';
import { VmcpError } from '../errors.ts';
import { LIST_KINDS, type ListKind, type Lists } from '../listed.ts';
import type { BackendStatus } from '../status-report.ts';
import { buildCatalog, type BuildOptions, type Catalog, type OwnTool, type SourceBackend } from './catalog.ts';
import { recent, type RecentBounds } from '../recent.ts';
import { rememberedBytes } from './entry-bytes.ts';
import { lookUpIn } from './look-up.ts';
import { type Overlay, withOverlay } from './overlay.ts';
import { type ListPages, pageCaches } from './pages.ts';
import type { Listed } from './name-table.ts';
import type { AggregationSettings } from './settings.ts';
import { type AllPages, LIST_OF, visibleUnder, type Visibility } from './visible.ts';

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
  /** Resolves once every backend was asked again for its lists, not more often than once in a while; at the latest after `timeoutMs`. */
  readonly lookAgain?: (timeoutMs: number) => Promise<void>;
  /** What the caller's own credential adds (`overlays`); it stands in place of shared backends of the same names. */
  readonly overlay?: (caller: Caller) => Overlay | Promise<Overlay> | undefined;
  /** What this caller may see; undefined: all. */
  readonly visible?: ((caller: Caller) => Visibility | undefined | Promise<Visibility | undefined>) | undefined;
  /** As `Gate` has it. */
  readonly policies?: (() => unknown) | undefined;
  /** Tools that no backend lists. */
  readonly ownTools?: () => readonly OwnTool[];
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
  /** Why the backend could not be listed for this caller, who is told when they ask for one of its names. */
  readonly error?: VmcpError;
}

/** What one caller is offered: the same for what is listed and for what is called by its name. */
export interface CallerCatalog {
  /** All that is offered, in lists or not. */
  readonly all: AllPages;
  /** `routable` is for steps of workflows: hidden tools are in it, and policy alone decides. */
  readonly find: (table: 'offered' | 'routable', names: Listed, name: string) => Target | undefined;
  /** As `Catalog` has it. */
  readonly routableName: Catalog['routableName'];
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
  /** The catalog as this caller may see it, at this moment. */
  readonly offeredTo: (caller: Caller) => CallerCatalog | Promise<CallerCatalog>;
  /** Throws `unknown_name`, or `forbidden` where there are policies, or `backend_unavailable` where the name tells that it belongs to a backend that is withheld. */
  readonly lookUp: (access: Pick<Access, 'names' | 'name' | 'caller' | 'origin'>) => Target | Promise<Target>;
  /** Hears which of the shared lists read differently than before, all where policies have changed, and nothing otherwise. Returns how to hear no more. */
  readonly onListsChanged: (listener: ListsListener) => () => void;
}

export type ListsListener = (kinds: readonly ListKind[]) => void;

export const makeOffer = (deps: OfferDeps): Offer => {
  let settings = deps.settings();
  const entryBytes = rememberedBytes();
  const build: Build = (backends, how) =>
    buildCatalog(backends.map(asSource), settings, { ...how, entryBytes, ownTools: deps.ownTools?.() ?? [] });
  let shared = build(deps.backends());
  let policies = deps.policies?.();
  const listeners = new Set<ListsListener>();
  const rebuild = (): void => {
    settings = deps.settings();
    const next = build(deps.backends());
    const changed = LIST_KINDS.filter((kind) => !next.lists[kind].isSameAs(shared.lists[kind]));
    // Pages that read the same stay, and are not made again.
    const lists = changed.length === 0 ? shared.lists : merged(shared, next, changed);
    shared = Object.freeze({ ...next, lists, all: next.all === next.lists ? lists : next.all });
    const before = policies;
    policies = deps.policies?.();
    const told = policies === before ? changed : LIST_KINDS;
    if (told.length > 0) for (const listener of listeners) listener(told);
  };
  const views = callerViews(deps, { shared: () => shared, build });
  let isStarted = false;
  const settled = async (): Promise<void> => {
    await deps.settled(settings.waitForUnknownMs);
    isStarted = true;
  };
  const list: Offer['list'] = async (kind, cursor, caller) => {
    const isStrict = settings.partialFailureMode === 'fail';
    // A backend that comes later delays nobody's lists; under `fail` they would be refused without it.
    if (!isStarted || isStrict) await settled();
    const { listed, overlay } = await views(caller);
    if (isStrict) refuseWhenDown(withOverlay(deps.backends(), overlay));
    return listed[kind].page(cursor);
  };
  return {
    catalog: () => shared,
    rebuild,
    list,
    offeredTo: views,
    lookUp: lookUpIn({ ...deps, settings: () => settings, views }),
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

export interface CallerView extends CallerCatalog {
  readonly listed: AllPages;
  readonly overlay: Overlay;
}

const NOTHING: Overlay = [];

/** The catalog of each caller: the shared one, with what the caller's own credential adds, as far as the caller may see it. */
const callerViews = (
  deps: OfferDeps,
  { shared, build }: { readonly shared: () => Catalog; readonly build: Build },
): ((caller: Caller) => CallerView | Promise<CallerView>) => {
  const wholes = new WeakMap<Catalog, CallerView>();
  const wholeOf = (catalog: Catalog, overlay: Overlay): CallerView => {
    const before = wholes.get(catalog);
    if (before) return before;
    const { all, lists: listed, routableName } = catalog;
    const view = { all, listed, find: findIn(catalog), routableName, overlay };
    wholes.set(catalog, view);
    return view;
  };
  const joined = joinedCatalogs(deps, shared, build);
  const visibleNow = visibleUnder(() => deps.policies?.());
  const seenBy = (caller: Caller, whole: CallerView): CallerView | Promise<CallerView> => {
    const visible = visibleNow();
    const asSeen = (by: Visibility | undefined): CallerView =>
      by
        ? { ...whole, all: visible(whole.all, by), listed: visible(whole.listed, by), find: onlyVisible(whole, by) }
        : whole;
    const visibility = deps.visible?.(caller);
    return visibility instanceof Promise ? visibility.then(asSeen) : asSeen(visibility);
  };
  return (caller) => {
    const overlay = deps.overlay?.(caller);
    if (overlay === undefined) return seenBy(caller, wholeOf(shared(), NOTHING));
    const join = (own: Overlay): CallerView | Promise<CallerView> => seenBy(caller, wholeOf(joined(own), own));
    return overlay instanceof Promise ? overlay.then(join) : join(overlay);
  };
};

const findIn =
  (catalog: Catalog): CallerCatalog['find'] =>
  (table, names, name) =>
    catalog[table].find(names, name);

/** The decision that makes the lists is the one that finds a name. */
const onlyVisible =
  ({ find }: CallerCatalog, { isVisible }: Visibility): CallerCatalog['find'] =>
  (table, names, name) => {
    const target = find(table, names, name);
    return !target || table === 'routable' || isVisible(...entryOf(names, name, target)) ? target : undefined;
  };

/** The entry of the lists that a name was found by: a template, for the URIs that are made from it. */
const entryOf = (names: Listed, name: string, target: Target): Parameters<Visibility['isVisible']> =>
  target.kind === 'backend' && target.template !== undefined
    ? [{ name: target.template, target }, 'resourceTemplates']
    : [{ name, target }, LIST_OF[names]];

type Build = (backends: readonly OfferedBackend[], how?: Pick<BuildOptions, 'newPageCache'>) => Catalog;

interface Joined {
  readonly of: Catalog;
  readonly overlay: Overlay;
  readonly catalog: Catalog;
}

/** The shared catalog and an overlay as one; made again only when either has changed, for as many callers as there is room for. */
const joinedCatalogs = (
  { backends }: OfferDeps,
  shared: () => Catalog,
  build: Build,
): ((overlay: Overlay) => Catalog) => {
  const known = recent<Joined>(JOINED_BOUNDS);
  const newPageCache = pageCaches(JOINED_PAGES_BOUNDS);
  const keys = new WeakMap<Overlay, string>();
  let last = 0;
  const keyOf = (overlay: Overlay): string => {
    const key = keys.get(overlay) ?? String((last += 1));
    keys.set(overlay, key);
    return key;
  };
  return (overlay) => {
    const of = shared();
    const key = keyOf(overlay);
    const before = known.get(key);
    if (before?.of === of) return before.catalog;
    const catalog = build(withOverlay(backends(), overlay), { newPageCache });
    known.set(key, { of, overlay, catalog }, weightOf(catalog));
    return catalog;
  };
};

const JOINED_BOUNDS: RecentBounds = { count: 1_000, bytes: 64 * 1024 * 1024 };

/** A page of one caller holds the shared entries, too. */
const JOINED_PAGES_BOUNDS: RecentBounds = { count: 4_000, bytes: 32 * 1024 * 1024 };

/** An entry takes part in a list and a table, roughly; its bytes are shared, or weighed with the overlay. */
const ENTRY_WEIGHT = 400;

const weightOf = ({ lists }: Catalog): number =>
  LIST_KINDS.reduce((sum, kind) => sum + lists[kind].size * ENTRY_WEIGHT, 0);

/** decisions: tools of a `degraded` backend stay listed. */
const asSource = ({ name, status, lists }: OfferedBackend): SourceBackend => ({
  name,
  isListed: status === 'ready' || status === 'degraded',
  lists: lists ?? NO_LISTS,
});

const NO_LISTS: Lists = { tools: [], prompts: [], resources: [], resourceTemplates: [] };

/** decisions, `partialFailureMode`: a backend that only wants a login is not down. */
const refuseWhenDown = (backends: readonly OfferedBackend[]): void => {
  const down = backends.filter(({ status, lists }) => status === 'unavailable' || (status === 'unknown' && !lists));
  if (down.length === 0) return;
  const names = down.map(({ name }) => `"${name}"`).join(', ');
  throw new VmcpError('lists_unavailable', `the list is incomplete: no answer from ${names}`);
};
