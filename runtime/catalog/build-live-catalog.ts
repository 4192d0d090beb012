import type { Caller } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import { LIST_KINDS, type ListKind, type Lists } from '../mcp/index.ts';
import { buildCatalog, type BuildOptions, type Catalog, type SourceBackend } from './catalog.ts';
import { lruCache, type LruBounds } from '../process/index.ts';
import { cachedEntryBytes } from './entry-bytes.ts';
import { lookUpIn, type LookUpDeps } from './look-up.ts';
import { withOverlay } from './overlay.ts';
import type {
  Overlay,
  LiveCatalogDeps,
  LiveCatalog,
  LiveCatalogSettings,
  ListsListener,
  CallerView,
  CallerCatalog,
  OfferedBackend,
} from './live-catalog.ts';
import { described, withoutAlone } from './described.ts';
import { type ListPages, pageCaches } from './pages.ts';
import { traceName, type UnlistedBackend } from './name-trace.ts';
import { seenViews } from './seen-catalog.ts';
import { withUsedTools } from './step-tools.ts';
import { type AllPages, visibleUnder, type Visibility, withoutPages } from './visible.ts';

/** The live catalog of these backends and settings. `rebuild` must be called whenever either has changed. */
export const buildLiveCatalog = (deps: LiveCatalogDeps): LiveCatalog => {
  let settings = deps.settings();
  const entryBytes = cachedEntryBytes();
  const build: Build = (backends, how) =>
    buildCatalog(backends.map(asSource), settings, { ...how, entryBytes, ownTools: deps.ownTools?.() ?? [] });
  let shared = build(deps.backends());
  let policies = deps.policies?.();
  const listeners = new Set<ListsListener>();
  const rebuild = (): void => {
    settings = deps.settings();
    const next = build(deps.backends());
    const changed = changedKinds(shared, next);
    // Unchanged pages are kept and not made again.
    shared = withPagesOf(shared, next, changed);
    const before = policies;
    policies = deps.policies?.();
    const told = policies === before ? changed : LIST_KINDS;
    if (told.length > 0) for (const listener of listeners) listener(told);
  };
  deps.onOverlayStale?.((caller) => {
    // Which of the lists has changed is not known before they are read again.
    for (const listener of listeners) listener(LIST_KINDS, caller);
  });
  const views = callerViews(deps, { shared: () => shared, build });
  const renewedView = async (caller: Caller): Promise<CallerView> => {
    const view = await views(caller);
    const asking = deps.askAgain?.(caller);
    if (!asking) return view;
    await asking;
    return views(caller);
  };
  const isStrict = (): boolean => settings.partialFailureMode === 'fail';
  const awaited = firstLists(deps, () => settings);
  const listableFor = async (caller: Caller): Promise<CallerView> => {
    await awaited();
    return renewedView(caller);
  };
  const list: LiveCatalog['list'] = async (kind, cursor, caller, extent) => {
    const { all, listed, overlay } = await listableFor(caller);
    if (isStrict()) refuseWhenDown(withOverlay(deps.backends(), overlay));
    refuseWhenNothingIsLeft(all, overlay);
    return (extent === 'whole' ? withoutAlone(all[kind]) : listed[kind]).page(cursor);
  };
  return {
    catalog: () => shared,
    rebuild,
    list,
    offeredTo: (caller) => views(caller),
    listableFor,
    lookUp: lookUpIn({ ...deps, settings: () => settings, views }),
    trace: async ({ caller, names, name }) => {
      const { catalog, overlay } = await renewedView(caller);
      const sources = withOverlay(deps.backends(), overlay).map(asSource);
      return traceName({ catalog, sources, settings, unlisted: unlistedIn(overlay) }, names, name);
    },
    onListsChanged: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
};

/** Waits for the lists of backends that have not answered yet, as long as lists do. */
const firstLists = ({ firstListed }: LiveCatalogDeps, settings: () => LiveCatalogSettings) => {
  let isStarted = false;
  return async (): Promise<void> => {
    const { partialFailureMode, waitForUnknownMs } = settings();
    // A backend that is added later does not delay lists; under `fail` the list would be refused without it.
    if (isStarted && partialFailureMode !== 'fail') return;
    await firstListed(waitForUnknownMs);
    isStarted = true;
  };
};

/** What is said of tools that are listed alone depends on the others, and some clients are listed all. */
const changedKinds = (before: Catalog, next: Catalog): readonly ListKind[] =>
  LIST_KINDS.filter(
    (kind) => !next.lists[kind].isSameAs(before.lists[kind]) || !next.all[kind].isSameAs(before.all[kind]),
  );

const withPagesOf = (before: Catalog, next: Catalog, changed: readonly ListKind[]): Catalog => {
  const lists = merged(before.lists, next.lists, changed);
  const all = next.all === next.lists ? lists : merged(before.all, next.all, changed);
  return Object.freeze({ ...next, lists, all });
};

const merged = (before: AllPages, next: AllPages, changed: readonly ListKind[]): AllPages =>
  changed.length === 0
    ? before
    : Object.freeze({
        ...before,
        ...(Object.fromEntries(changed.map((kind) => [kind, next[kind]])) as Partial<Record<ListKind, ListPages>>),
      });

const NOTHING: Overlay = [];

/**
 * The catalog of each caller: the shared one, with what the caller's own credential adds, as far as the caller may see
 * it.
 */
const callerViews = (
  deps: LiveCatalogDeps,
  { shared, build }: { readonly shared: () => Catalog; readonly build: Build },
): LookUpDeps['views'] => {
  const wholes = new WeakMap<Catalog, CallerView>();
  const wholeOf = (catalog: Catalog, overlay: Overlay): CallerView => {
    const before = wholes.get(catalog);
    if (before) return before;
    const { all, lists, routableName, stepTool } = catalog;
    const find = findIn(catalog);
    const listed = described(lists, all);
    const view = { all, listed, catalog, find, findHidden: find, routableName, stepTool, overlay };
    wholes.set(catalog, view);
    return view;
  };
  const joined = joinedCatalogs(deps, shared, build);
  const policies = (): unknown => deps.policies?.();
  const visibleNow = visibleUnder(policies);
  const offeredNow = visibleUnder(policies, withoutPages);
  const seenAs = seenViews();
  const seenBy = (caller: Caller, whole: CallerView): CallerView | Promise<CallerView> => {
    const isAllListed = whole.catalog.all === whole.catalog.lists;
    const visible = { listed: visibleNow(), offered: isAllListed ? visibleNow() : offeredNow() };
    const asSeen = (by: Visibility | undefined): CallerView =>
      by ? seenAs(withUsedTools(by, whole.catalog.usedTools), whole, visible) : whole;
    const visibility = deps.visible?.(caller);
    return visibility instanceof Promise ? visibility.then(asSeen) : asSeen(visibility);
  };
  return (caller, needed) => {
    const overlay = deps.overlay?.(caller, needed);
    if (overlay === undefined) return seenBy(caller, wholeOf(shared(), NOTHING));
    const join = (own: Overlay): CallerView | Promise<CallerView> => seenBy(caller, wholeOf(joined(own), own));
    return overlay instanceof Promise ? overlay.then(join) : join(overlay);
  };
};

const findIn =
  (catalog: Catalog): CallerCatalog['find'] =>
  (table, names, name) =>
    catalog[table].find(names, name);

type Build = (backends: readonly OfferedBackend[], how?: Pick<BuildOptions, 'newPageCache'>) => Catalog;

interface JoinedCatalog {
  readonly of: Catalog;
  readonly overlay: Overlay;
  readonly catalog: Catalog;
}

/**
 * The shared catalog and an overlay as one; built again only when either has changed, and cached within JOINED_BOUNDS.
 */
const joinedCatalogs = (
  { backends }: LiveCatalogDeps,
  shared: () => Catalog,
  build: Build,
): ((overlay: Overlay) => Catalog) => {
  const known = lruCache<JoinedCatalog>(JOINED_BOUNDS);
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

const JOINED_BOUNDS: LruBounds = { count: 1_000, bytes: 64 * 1024 * 1024 };

/** A page of one caller holds the shared entries, too. */
const JOINED_PAGES_BOUNDS: LruBounds = { count: 4_000, bytes: 32 * 1024 * 1024 };

/** Approximate bytes of an entry in a list and a table; its JSON text is shared, or counted with the overlay. */
const ENTRY_WEIGHT = 400;

const weightOf = ({ lists }: Catalog): number =>
  LIST_KINDS.reduce((sum, kind) => sum + lists[kind].size * ENTRY_WEIGHT, 0);

/** Tools of a `degraded` backend stay listed: docs/decisions.md "Unavailable backends in lists" */
const asSource = ({ name, status, lists }: OfferedBackend): SourceBackend => ({
  name,
  isListed: status === 'ready' || status === 'degraded',
  lists: lists ?? NO_LISTS,
});

const NO_LISTS: Lists = { tools: [], prompts: [], resources: [], resourceTemplates: [] };

/** The backends that could not be listed for a caller, and why. */
const unlistedIn = (overlay: Overlay): readonly UnlistedBackend[] =>
  overlay.flatMap(({ name, lists, error }) => (lists || !error ? [] : [{ backend: name, error }]));

/**
 * A caller who is offered nothing for want of a credential is told so: an empty list would look as if there were no
 * tools, and so would tools that find others. A missing sign-in comes first, as the user can mend that.
 */
const refuseWhenNothingIsLeft = (all: CallerView['all'], overlay: Overlay): void => {
  if (overlay.length === 0 || LIST_KINDS.some((kind) => all[kind].entries.some(({ isAlone }) => !isAlone))) return;
  const errors = unlistedIn(overlay).map(({ error }) => error);
  const error =
    errors.find(({ code }) => code === 'login_required') ??
    errors.find(({ code }) => code === 'credential_unavailable');
  if (error) throw error;
};

/** docs/decisions.md "Unavailable backends in lists": a backend that only wants a login is not down. */
const refuseWhenDown = (backends: readonly OfferedBackend[]): void => {
  const down = backends.filter(({ status, lists }) => status === 'unavailable' || (status === 'unknown' && !lists));
  if (down.length === 0) return;
  const names = down.map(({ name }) => `"${name}"`).join(', ');
  throw new VmcpError('lists_unavailable', `the list is incomplete: no answer from ${names}`);
};
