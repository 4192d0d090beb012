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
  { incomingAuth, config, isFront }: ServerSpec,
): readonly ResolvedReference[] =>
  references
    .filter(({ kind, path }) => !OF_PARTS.has(kind) || path === AUTH_SERVER)
    // The members of its group are not what a front serves.
    .filter(({ kind }) => isFront !== true || kind !== 'MCPGroup')
    .filter(({ path }) => incomingAuth.type !== 'anonymous' || !OF_CALLERS.test(path))
    .filter(({ kind }) => kind !== 'EmbeddingServer' || config?.['optimizer'] !== undefined)
    .map((reference) =>
      isAwaited(reference) ? { ...reference, target: undefined, invalid: 'is not ready' } : reference,
    );

const AUTH_SERVER = 'spec.authServerRef';
const OF_CALLERS = /^spec\.(incomingAuth|oidcConfigRef|authzConfig)\b/;

const OF_PARTS: ReadonlySet<string> = new Set(['MCPExternalAuthConfig', 'Secret']);

const isAwaited = ({ kind, target }: ResolvedReference): boolean =>
  kind === 'EmbeddingServer' && target !== undefined && !isReady(target);
