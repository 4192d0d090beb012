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
  makeOffer,
  type ListsListener,
  type Offer,
  type OfferDeps,
  type OfferedBackend,
  type OfferSettings,
} from './offer.ts';
export { overlays, type Overlay, type OverlayDeps } from './overlay.ts';
export type { ListEntry, ListPages } from './pages.ts';
export type { AggregationSettings, NamingSettings, ToolOverride, WorkloadTools } from './settings.ts';
export type { Visibility } from './visible.ts';
