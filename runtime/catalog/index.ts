export {
  buildCatalog,
  type Catalog,
  type Collision,
  type NamingRule,
  type SourceBackend,
  type SourceTool,
} from './catalog.ts';
export type { ListPages } from './pages.ts';
