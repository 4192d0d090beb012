import { strategyFromResource, everyStrategy, blockOf } from '../../../../runtime/config/index.ts';
import { type SpecOf, specOf } from '../../../../crds/index.ts';
import type { KubeObject } from '../../../object.ts';
import type { Settings } from '../../settings.ts';
import { secretPath } from '../objects/mounted-files.ts';

/** The API server has checked that the block of its type is there. */
export type ExternalAuth = SpecOf<'MCPExternalAuthConfig'>;

export interface StrategyInput {
  readonly settings: Settings;
  /** Names of the upstream providers of the embedded authorization server, in order. */
  readonly upstreams: readonly string[];
}

export const externalAuth = (config: KubeObject): ExternalAuth => specOf('MCPExternalAuthConfig', config);

/**
 * What an MCPExternalAuthConfig says, as the runtime's file spells it (`outgoingAuth.backends.<name>`); undefined for a
 * type that does not authenticate to backends. `runtime/config/strategies/<strategy>.ts` has both spellings of each
 * strategy.
 */
export const strategyOf = (
  auth: ExternalAuth,
  { settings, upstreams }: StrategyInput,
): Readonly<Record<string, unknown>> | undefined =>
  strategyFromResource(auth, { fileOf: (secret) => secretPath(secret, settings), upstreams });

/** The upstream provider that it needs users to have logged in at. */
export const providerOf = (auth: ExternalAuth): string | undefined => {
  const [name, slice] = everyStrategy.find(([each]) => each === auth.type) ?? [];
  const named = name && slice?.provider !== undefined ? blockOf(auth, name)?.[slice.provider] : undefined;
  return typeof named === 'string' ? named : undefined;
};
