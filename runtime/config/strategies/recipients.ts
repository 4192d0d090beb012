import { blockOf, everyStrategy, type StrategyName, strategyNameOf } from './union.ts';

type Block = Readonly<Record<string, unknown>>;

/** The use that a strategy makes of tokens of an upstream provider. */
export interface ProviderUse {
  readonly provider: string;
  /** Origins that the token, or what is had for it, is sent to. */
  readonly recipients: readonly string[];
}

/**
 * The origins that a user's token, or what is had for it, is sent to: of the backend, and of the endpoints that the
 * block names. Those of a service whose address nobody can choose are left out.
 */
export const recipientsOf = (name: StrategyName, block: object, backendOrigin: string): readonly string[] => {
  const [, slice] = everyStrategy.find(([each]) => each === name) ?? [];
  const endpoints = (slice?.addresses ?? []).map((key) => (block as Block)[key]);
  const origins = endpoints.flatMap((each) => (typeof each === 'string' ? (URL.parse(each)?.origin ?? []) : []));
  return [...new Set([backendOrigin, ...origins])];
};

/** Undefined: the strategy uses no token of an upstream provider. */
export const providerUseOf = (strategy: { readonly type: string }, backendOrigin: string): ProviderUse | undefined => {
  const name = strategyNameOf(strategy.type);
  const block = name && blockOf(strategy, name);
  const [, slice] = everyStrategy.find(([each]) => each === name) ?? [];
  const provider = slice?.provider === undefined ? undefined : block?.[slice.provider];
  if (!name || !block || typeof provider !== 'string' || provider === '') return undefined;
  return { provider, recipients: recipientsOf(name, block, backendOrigin) };
};
