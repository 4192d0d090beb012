import type { Target } from '../call/index.ts';
import type { Catalog } from './catalog.ts';
import { described } from './described.ts';
import type { CallerCatalog, CallerView, Overlay } from './live-catalog.ts';
import type { Listed } from './name-table.ts';
import { LIST_OF, type visibleLists, type Visibility } from './visible.ts';

/** Lists that are sent as they are keep their pages; those that are mostly searched do not. */
export interface Visible {
  readonly listed: ReturnType<typeof visibleLists>;
  readonly offered: ReturnType<typeof visibleLists>;
}

/**
 * Keeps the last view of each class of callers as long as its catalog: while policies do not change either, it is the
 * next one. A catalog that was replaced is kept by no class that does not call any more.
 */
export const seenViews = (): ((by: Visibility, whole: CallerView, visible: Visible) => CallerView) => {
  const known = new WeakMap<CallerView, WeakMap<Visibility, SeenCatalog>>();
  return (by, whole, visible) => {
    const ofWhole = known.get(whole) ?? new WeakMap<Visibility, SeenCatalog>();
    const before = ofWhole.get(by);
    if (before && isSame(before.visible, visible)) return before;
    const seen = new SeenCatalog(by, whole, visible);
    known.set(whole, ofWhole.set(by, seen));
    return seen;
  };
};

const isSame = (a: Visible, b: Visible): boolean => a.listed === b.listed && a.offered === b.offered;

/**
 * What a class of callers sees of a catalog. The lists are made when they are asked for: a call needs none of them, and
 * a decision about each entry takes time.
 */
class SeenCatalog implements CallerView {
  readonly catalog: Catalog;
  readonly overlay: Overlay;
  readonly routableName: CallerView['routableName'];
  readonly stepTool: CallerView['stepTool'];
  readonly find: CallerView['find'];
  readonly findHidden: CallerView['findHidden'];
  readonly visible: Visible;
  readonly #by: Visibility;
  readonly #whole: CallerView;

  constructor(by: Visibility, whole: CallerView, visible: Visible) {
    this.catalog = whole.catalog;
    this.overlay = whole.overlay;
    this.routableName = whole.routableName;
    this.stepTool = whole.stepTool;
    this.find = onlyVisible(whole, by);
    this.findHidden = whole.findHidden;
    this.visible = visible;
    this.#by = by;
    this.#whole = whole;
  }

  get all(): CallerView['all'] {
    return this.visible.offered(this.#whole.all, this.#by);
  }

  get listed(): CallerView['listed'] {
    return described(this.visible.listed(this.catalog.lists, this.#by), this.all);
  }
}

/** The visibility that makes the lists also decides which names are found. */
const onlyVisible =
  ({ find }: CallerCatalog, { isVisible }: Visibility): CallerCatalog['find'] =>
  (table, names, name) => {
    const target = find(table, names, name);
    return !target || table === 'routable' || isVisible(...entryOf(names, name, target)) ? target : undefined;
  };

/** The list entry by which a name was found: for a URI made from a template, the template. */
const entryOf = (names: Listed, name: string, target: Target): Parameters<Visibility['isVisible']> =>
  target.kind === 'backend' && target.template !== undefined
    ? [{ name: target.template, target }, 'resourceTemplates']
    : [{ name, target }, LIST_OF[names]];
