/**
 * What is offered under which name: filters, overrides, conflict rules, the table from names to targets. Snapshots are
 * frozen and rebuilt as a whole; no input or output. Start at `catalog.ts` (one snapshot), then
 * `build-live-catalog.ts`.
 */

export {
  buildCatalog,
  type Catalog,
  type Collision,
  type OwnTool,
  type SourceBackend,
  type UnusualName,
} from './catalog.ts';
export type { UnmatchedSetting } from './hiding.ts';
export type { UnresolvedName } from './conflict-rules/rule.ts';
export { conflictRule } from './conflict-rules.ts';
export { type NameTable } from './name-table.ts';
export {
  type CallerCatalog,
  type ListsListener,
  type LiveCatalog,
  type LiveCatalogDeps,
  type OfferedBackend,
  type LiveCatalogSettings,
  type Overlay,
} from './live-catalog.ts';
export { overlays, type OverlayDeps } from './overlay.ts';
export type { ListEntry, ListPages } from './pages.ts';
export type { AggregationSettings, NamingSettings, ToolOverride, WorkloadTools } from './settings.ts';
export type { Visibility } from './visible.ts';
export { buildLiveCatalog } from './build-live-catalog.ts';
