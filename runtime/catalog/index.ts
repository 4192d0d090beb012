/**
 * What is offered under which name: filters, overrides, conflict rules, the table from names to targets. Snapshots are
 * frozen and rebuilt as a whole; no input or output. Start at `catalog.ts` (one snapshot), then
 * `build-live-catalog.ts`.
 */

export type { Catalog } from './catalog.ts';
export type { OwnTool, UsedTools } from './own-tool.ts';
export type { FindStepTool, StepTool } from './step-tools.ts';
export type { NameTrace, ToolTrace } from './name-trace.ts';
export { type CallerCatalog, type LiveCatalog, type OfferedBackend, type LiveCatalogSettings } from './live-catalog.ts';
export type { ListEntry, ListPages } from './pages.ts';
export { type Overlays, overlays } from './overlay.ts';
export type { WorkloadTools } from './settings.ts';
export type { Visibility } from './visible.ts';
export { buildLiveCatalog } from './build-live-catalog.ts';
