import type { KubeObject } from '../../../object.ts';
import { fact } from '../../conditions.ts';
import { embeddingServerUrl, isReady } from '../../embedding-server/spec.ts';
import type { PlannedCondition } from '../../plan.ts';
import type { ResolvedReference } from '../../references.ts';
import type { ServerSpec } from '../../server-spec.ts';
import type { Settings } from '../../settings.ts';

type Value = Readonly<Record<string, unknown>>;

export interface OptimizerInput {
  readonly server: KubeObject;
  readonly spec: ServerSpec;
  readonly settings: Settings;
}

/** docs/configuration.md "optimizer"; `spec.embeddingServerRef` fills `embeddingService`. */
export const optimizer = (input: OptimizerInput): Value | undefined => {
  const said = input.spec.config?.optimizer;
  const url = embeddingUrl(input);
  return said === undefined || url === undefined ? said : { ...said, embeddingService: url };
};

/** Was another address written than the one that is used? */
export const isEmbeddingServiceOverridden = (input: OptimizerInput): boolean => {
  const [url, said] = [embeddingUrl(input), input.spec.config?.optimizer?.embeddingService];
  return url !== undefined && said !== undefined && said.replace(/\/$/, '') !== url;
};

/**
 * The address follows from the name, so that it stays when the object is away (docs/decisions.md "The optimizer needs
 * its EmbeddingServer").
 */
const embeddingUrl = ({ server, spec, settings }: OptimizerInput): string | undefined => {
  const { namespace = 'default' } = server.metadata;
  return spec.embeddingServerRef && embeddingServerUrl({ name: spec.embeddingServerRef.name, namespace }, settings);
};

/**
 * docs/decisions.md "The optimizer needs its EmbeddingServer"; a missing one is reported by `EmbeddingServerResolved`.
 */
export const embeddingServerReady = (references: readonly ResolvedReference[]): readonly PlannedCondition[] =>
  references.flatMap(({ kind, name, target }) => {
    if (kind !== 'EmbeddingServer' || target === undefined) return [];
    if (isReady(target))
      return [fact('EmbeddingServerReady', true, 'EmbeddingServerServes', `EmbeddingServer ${name}`)];
    const message = `EmbeddingServer ${name} is not ready, and the optimizer needs it; its status says why`;
    return [fact('EmbeddingServerReady', false, 'EmbeddingServerNotReady', message)];
  });
