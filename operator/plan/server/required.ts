import type { ResolvedReference } from '../references.ts';
import type { ServerSpec } from './spec.ts';

/**
 * References without which the whole server has to wait (spec: Errors, "Referenced resource missing"). A missing
 * MCPExternalAuthConfig or Secret fails what uses it, and what `anonymous` ignores may lead anywhere (decisions).
 */
export const requiredReferences = (
  references: readonly ResolvedReference[],
  { incomingAuth }: ServerSpec,
): readonly ResolvedReference[] =>
  references
    .filter(({ kind }) => !OF_PARTS.has(kind))
    .filter(({ path }) => incomingAuth.type !== 'anonymous' || !path.startsWith('spec.incomingAuth.'));

const OF_PARTS: ReadonlySet<string> = new Set(['MCPExternalAuthConfig', 'Secret']);
