export {
  type AnySlice,
  type BlockInFile,
  blockOf,
  blocksIn,
  everyStrategy,
  FEATURE,
  resourceBlocks,
  type StrategyName,
  strategyFromResource,
  strategyNameOf,
  type StrategyType,
  type SupportedStrategy,
} from './union.ts';
export type { ResourceContext, SecretRefSchema } from './slice.ts';
