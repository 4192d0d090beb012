import type { BuiltinTarget, Call, Dispatch, NewInnerCall, Reply } from '../call/index.ts';
import type { CallerCatalog, LiveCatalog, OwnTool } from '../catalog/index.ts';
import { callTool } from './call-tool.ts';
import { CALL_TOOL, OPTIMIZER_TOOLS } from './definitions.ts';
import type { EmbeddedTools } from './embedded-tools.ts';
import { entryNamed, findTool } from './find-tool.ts';
import { IndexedTools } from './indexed-tools.ts';
import type { SearchMetrics } from './search-metrics.ts';
import { type Explained, searching, type SearchSettings } from './searching.ts';
import type { ToolIndex } from './search/index.ts';

export interface OptimizerDeps {
  readonly index: ToolIndex;
  /** Undefined: the optimizer is off. */
  readonly settings: () => SearchSettings | undefined;
  readonly embedded: () => EmbeddedTools | undefined;
  readonly metrics: SearchMetrics;
  /** Milliseconds, for durations. */
  readonly steadyNow: () => number;
}

export interface ServeDeps {
  readonly dispatch: Dispatch;
  readonly innerCall: NewInnerCall;
  readonly offeredTo: LiveCatalog['offeredTo'];
  readonly listableFor: LiveCatalog['listableFor'];
}

export interface Optimizer {
  /** The two tools; none while the optimizer is off. */
  readonly all: () => readonly OwnTool<BuiltinTarget>[];
  readonly serve: (call: Call, target: BuiltinTarget, deps: ServeDeps) => Promise<Reply>;
  /** Keeps the index to what this catalog offers to all, from now on. */
  readonly follow: (catalog: Pick<LiveCatalog, 'catalog' | 'onListsChanged'>) => void;
  /** To be called when the settings have changed. */
  readonly settingsChanged: () => void;
  /** Why a search of this text finds the tool or not; undefined where there is no such tool, or no optimizer. */
  readonly explain: (name: string, text: string, offered: CallerCatalog) => Promise<Explained | undefined>;
}

const OFF: SearchSettings = { maxTools: 1, semanticRatio: 0, distanceThreshold: 0 };

/** One index for all callers; what a caller may find is decided by the list that the catalog offers to that caller. */
export const optimizer = (deps: OptimizerDeps): Optimizer => {
  const { index, settings, embedded, metrics } = deps;
  const indexed = new IndexedTools(index, () => embedded()?.note());
  const { search, explain } = searching({ ...deps, settings: () => settings() ?? OFF });
  let followed: Pick<LiveCatalog, 'catalog'> | undefined;
  const update = (): void => {
    if (!followed) return;
    if (settings()) indexed.share(followed.catalog().all.tools);
    else void indexed.clear();
  };
  return {
    all: () => (settings() ? OPTIMIZER_TOOLS : []),
    serve: (call, { tool }, { dispatch, innerCall, offeredTo, listableFor }) => {
      const offered = async ({ caller }: Call): Promise<CallerCatalog> => offeredTo(caller);
      const { unknownTool: onUnknown } = metrics;
      const nearest: ToolIndex['nearest'] = (...of) => index.nearest(...of);
      return tool === CALL_TOOL
        ? callTool(call, { indexed, nearest, offeredTo: offered, innerCall, dispatch, onUnknown })
        : findTool(call, { indexed, search, listableFor: ({ caller }) => listableFor(caller) });
    },
    follow: (catalog) => {
      followed = catalog;
      update();
      catalog.onListsChanged((kinds, caller) => {
        if (caller === undefined && kinds.includes('tools')) update();
      });
    },
    settingsChanged: () => {
      update();
      embedded()?.note();
    },
    explain: async (name, text, { all }) => {
      if (!settings()) return undefined;
      await indexed.settled();
      const entry = entryNamed(all.tools, name);
      const hash = entry && indexed.hashOf(entry);
      return hash === undefined ? undefined : explain(text, hash, await indexed.selectionOf(all.tools));
    },
  };
};
