/**
 * The contract of the config file: one schema per section, cross-checks, durations, file paths, and the live
 * configuration that is swapped without a restart. Pure but for `read-files.ts` and `watch-config.ts`. Start at
 * `config.ts` (the schema), `load.ts` (text to configuration) and `live-config.ts` (changes).
 */

export {
  aggregationSchema,
  DEFAULT_PREFIX_FORMAT,
  toolAnnotationsSchema,
  toolConfigRefSchema,
  MOST_TOOLS,
  toolOverrideSchema,
} from './aggregation.ts';
export { AUDIT_EVENT_TYPES, type AuditEventType, auditSchema } from './audit.ts';
export { embeddedAuthServerSchema } from './auth-server.ts';
export { backendSchema, backendsSchema } from './backends.ts';
export { type Finding, findingsIn } from './explain.ts';

export { compositeToolRefSchema, compositeToolSchema, compositeToolsSchema } from './composite-tools.ts';
export { backendsFileSchema, configSchema, fileSchema, FORMAT_VERSION } from './config.ts';
export { duration, type DurationOptions, durationOr, formatDuration, parseDuration } from './durations.ts';
export { extensionsSchema } from './extensions.ts';
export { entitiesJsonSchema, incomingAuthSchema } from './incoming-auth.ts';
export { keyedList } from './keyed-list.ts';
export { firstIndexes } from './first-indexes.ts';
export { filePathsIn, filePathSchema } from './file-paths.ts';
export { notYet, type NotYet, notYetOf, type Unsupported, unsupportedIn } from './not-yet.ts';
export { operationalSchema } from './operational.ts';
export { optimizerSchema } from './optimizer.ts';
export { outgoingAuthSchema, strategySchema } from './outgoing-auth.ts';
export { rateLimitingSchema } from './rate-limiting.ts';
export { audienceForms, canonicalResource, resourceUrlIn } from './resource-identifier.ts';
export {
  atLeastOne,
  atMostOne,
  exactlyOne,
  onlyWith,
  presentExactlyWhen,
  requiredWhen,
  type Rule,
  rule,
  rulesOf,
  type When,
  withRules,
} from './rules.ts';
export {
  decimal,
  hostPortSchema,
  httpsUrlSchema,
  httpUrlSchema,
  providerNameSchema,
  stringMap,
  workloadNameSchema,
} from './scalars.ts';
export { supportedScopes } from './supported-scopes.ts';
export { HEADER_VALUE, headerNameProblem } from './header-fields.ts';
export { FILE_KEY_OF_SECRET_REF, secretFiles, secretRefs, type SecretSpelling } from './secret-spelling.ts';
export { sessionStorageRules, sessionStorageSchema, sessionStorageShape } from './session-storage.ts';
export {
  type BlockInFile,
  blockOf,
  everyStrategy,
  needsUser,
  providerUseOf,
  recipientsOf,
  resourceBlocks,
  strategyFromResource,
  type StrategyName,
  strategyNameOf,
  type SupportedStrategy,
  tokenTypeUri,
  withFirstProvider,
} from './strategies/index.ts';
export { type OtlpEndpoint, otlpEndpoint, telemetrySchema } from './telemetry.ts';
export type { ConfigFile } from './yaml-text.ts';
export {
  type BackendConfig,
  type Config,
  type ConfigCheck,
  isLoadable,
  loadConfig,
  type LoadedConfig,
  type StrategyConfig,
  type UpstreamProviderConfig,
} from './load.ts';
export type { AsWritten } from './freeze.ts';
export { formatPath, formatProblem, type Problem } from './problem.ts';
export { checkConfigFiles, type FurtherChecks, readConfigFiles, type ReadFiles } from './read-files.ts';
export { CHECKS_OVERLAP, warningsOf } from './warnings.ts';
export {
  type BackendsInput,
  type ConfigInput,
  renderBackends,
  renderConfig,
  startupChanges,
  startupKeysOf,
  textOf,
  withStartupKeys,
  writtenBackends,
  writtenConfig,
} from './render.ts';
export { InvalidConfigError, type LiveConfig, type ReloadResult, liveConfig } from './live-config.ts';
export { watchConfig } from './watch-config.ts';
export { circlesIn } from './workflow-graph.ts';
export { isNetwork, networksOf } from './networks.ts';
