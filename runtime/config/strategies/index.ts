export {
  type AnySlice,
  type BlockInFile,
  blockOf,
  blocksIn,
  everyStrategy,
  FEATURE,
  needsUser,
  resourceBlocks,
  type StrategyName,
  strategyFromResource,
  strategyNameOf,
  type StrategyType,
  type SupportedStrategy,
  withFirstProvider,
} from './union.ts';
export { type ProviderUse, providerUseOf, recipientsOf } from './recipients.ts';
export { tokenTypeUri } from './token-exchange.ts';
export type { ResourceContext, SecretRefSchema } from './slice.ts';
