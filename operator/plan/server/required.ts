import { isReady } from '../embedding-server/spec.ts';
import type { ResolvedReference } from '../references.ts';
import type { ServerSpec } from './spec.ts';

/**
 * References without which the whole server has to wait (spec: Errors, "Referenced resource missing", "Optimizer enabled without a
 * ready `embeddingServerRef`"). A missing MCPExternalAuthConfig or Secret fails what uses it, and what `anonymous` ignores may lead
 * anywhere (decisions).
 */
export const requiredReferences = (
  references: readonly ResolvedReference[],
  { incomingAuth, config }: ServerSpec,
): readonly ResolvedReference[] =>
  references
    .filter(({ kind }) => !OF_PARTS.has(kind))
    .filter(({ path }) => incomingAuth.type !== 'anonymous' || !path.startsWith('spec.incomingAuth.'))
    .filter(({ kind }) => kind !== 'EmbeddingServer' || config?.['optimizer'] !== undefined)
    .map((reference) =>
      isAwaited(reference) ? { ...reference, target: undefined, invalid: 'is not ready' } : reference,
    );

const OF_PARTS: ReadonlySet<string> = new Set(['MCPExternalAuthConfig', 'Secret']);

const isAwaited = ({ kind, target }: ResolvedReference): boolean =>
  kind === 'EmbeddingServer' && target !== undefined && !isReady(target);
