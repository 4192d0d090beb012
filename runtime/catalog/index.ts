export { buildCatalog, type Catalog, type Collision, type SourceBackend, type SourceTool } from './catalog.ts';
export { conflictRule } from './conflict-rules.ts';
export { makeOffer, type Offer, type OfferDeps, type OfferedBackend, type OfferSettings } from './offer.ts';
export type { ListPages } from './pages.ts';
