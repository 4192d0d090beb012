import type { Config, LiveConfig } from './config/index.ts';
import { type FetchPolicy, fetchPolicies, type GuardedClient } from './http/index.ts';
import type { Log, Meter } from './observe/index.ts';
import {
  type EmbeddedTools,
  embeddedTools,
  embeddingFetch,
  type EmbeddingServiceSettings,
  optimizer,
  type Optimizer,
  searchMetrics,
  type SearchSettings,
  ToolIndex,
  VectorCache,
} from './optimizer/index.ts';
import type { OwnTools } from './own-tools.ts';
import type { Clock, ReadSecret } from './process/index.ts';
import { prefixed, type Store } from './store/index.ts';
import type { BuiltinTarget } from './call/index.ts';

/** As in `FeatureDeps`. */
export interface OptimizerDeps {
  readonly config: LiveConfig;
  readonly clock: Clock;
  readonly steadyNow: () => number;
  readonly random: () => number;
  readonly log: Log;
  readonly meter: Meter;
  readonly readSecret: ReadSecret;
  /** All replicas' store; the keys have a prefix of their own. */
  readonly store: Store;
  readonly fetchUnder: (policy: FetchPolicy) => GuardedClient;
  readonly onStop: (close: () => Promise<void>) => void;
}

/** `config.optimizer` as own tools; every key takes effect live. */
export interface OptimizerTools extends OwnTools<BuiltinTarget> {
  readonly follow: Optimizer['follow'];
  readonly explainSearch: Optimizer['explain'];
}

/** The variable that docs/optimizer.md "Embedding services" names. */
const API_KEY_VARIABLE = 'VMCP_EMBEDDING_API_KEY';

export const optimizerTools = (deps: OptimizerDeps): OptimizerTools => {
  const { config, onStop, steadyNow, meter } = deps;
  const index = new ToolIndex();
  const metrics = searchMetrics(meter, {
    tools: () => index.size,
    vectors: () => index.vectorCount,
    refused: () => index.refusedCount,
  });
  const settings = config.live(searchSettingsOf, (part) => part);
  const service = config.live(
    embeddingSettingsOf,
    (part) => part && lazily(() => embeddingService(part, index, { ...deps, metrics })),
    (made) => void made?.end(),
  );
  onStop(async () => service()?.end());
  const listeners = new Set<() => void>();
  const tools = optimizer({ index, settings, embedded: () => service()?.use(), metrics, steadyNow });
  onChangeOf(config, [settings, service], () => {
    tools.settingsChanged();
    for (const listener of listeners) listener();
  });
  const { explain: explainSearch, ...rest } = tools;
  return { ...rest, explainSearch, onChange: (listener) => void listeners.add(listener) };
};

/** Calls `run` after a reload that has made one of these another value. */
const onChangeOf = (config: LiveConfig, parts: readonly (() => unknown)[], run: () => void): void => {
  config.onReload(() => {
    const before = parts.map((part) => part());
    return () => {
      if (parts.some((part, index) => part() !== before[index])) run();
    };
  });
};

/** Made when it is first used: a configuration that is given up, or is not in force yet, must not touch the index. */
const lazily = (make: () => EmbeddedTools) => {
  let made: EmbeddedTools | undefined;
  return { use: () => (made ??= make()), end: async () => made?.end() };
};

const embeddingService = (
  settings: EmbeddingServiceSettings,
  index: ToolIndex,
  { metrics, ...deps }: OptimizerDeps & { readonly metrics: ReturnType<typeof searchMetrics> },
): EmbeddedTools => {
  const { config, store, readSecret, fetchUnder } = deps;
  const isShared = config.current().sessionStorage?.provider === 'kvstore';
  return embeddedTools(settings, {
    ...deps,
    index,
    cache: new VectorCache({ store: isShared ? prefixed(store, 'optimizer:vectors:') : undefined }),
    client: embeddingFetch(
      (timeoutMs) => fetchUnder({ ...fetchPolicies.embedding, timeoutMs }),
      () => config.current().optimizer?.embeddingServiceTimeout ?? SWITCHED_OFF_MS,
    ),
    mostMs: () => config.current().extensions.optimizer.queryTimeout,
    apiKey: () => readSecret({ environment: API_KEY_VARIABLE }),
    onAsked: metrics.embeddingAsked,
    onVector: metrics.vectorFound,
  });
};

/** Timeout of what an optimizer that was just switched off asks still. */
const SWITCHED_OFF_MS = 1_000;

const searchSettingsOf = ({ optimizer: part }: Config): SearchSettings | undefined =>
  part && {
    maxTools: part.maxToolsToReturn,
    semanticRatio: Number(part.hybridSearchSemanticRatio),
    distanceThreshold: Number(part.semanticDistanceThreshold),
  };

/**
 * What decides where vectors come from: another value drops those that there are. Undefined: nothing is to be found by
 * meaning, so nothing is embedded.
 */
const embeddingSettingsOf = ({ optimizer: part, extensions }: Config): EmbeddingServiceSettings | undefined =>
  part?.embeddingService === undefined || Number(part.hybridSearchSemanticRatio) === 0
    ? undefined
    : { url: part.embeddingService, model: extensions.optimizer.embeddingModel };
