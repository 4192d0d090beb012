import { type KubeObject, type ObjectKey, keyOf } from '../object.ts';
import { conditionsIn } from '../plan/conditions.ts';
import type { ResolvedReference } from '../plan/references.ts';
import type { ServerBundle } from '../plan/server/bundle.ts';
import { policyConfigMap } from '../plan/server/config/policies.ts';
import { sharingServers } from '../plan/server/status/uniqueness.ts';
import { SERVED_KINDS } from '../read/resolve.ts';
import type { Source } from '../read/source.ts';
import type { ReadContent, Reads } from './kind.ts';

/** Objects of `kind` that have something in common with the one that changed, which each should have alone. */
export const sharingServersOf = (kind: string, source: Source, changed: KubeObject): readonly ObjectKey[] =>
  (SERVED_KINDS as readonly string[]).includes(changed.kind)
    ? sharingServers(changed, source.list(kind, keyOf(changed).namespace)).map(keyOf)
    : [];

/**
 * The server may run an accepted spec with other references than the newest one: the newest is not reconciled yet, or
 * is invalid, or lacks a reference. Such a server is affected by every change. Conditions of types `ofParts` do not
 * decide which spec is served.
 */
export const mayServeAcceptedSpec =
  (ofParts: readonly string[]) =>
  ({ metadata: { generation }, ...object }: KubeObject): boolean => {
    const { observedGeneration } = (object['status'] ?? {}) as { readonly observedGeneration?: number };
    const facts = conditionsIn(object['status']).filter(
      ({ type }) => OF_ALL.has(type) || (type.endsWith('Resolved') && !ofParts.includes(type)),
    );
    return observedGeneration !== generation || facts.some(({ status }) => status !== 'True');
  };

const OF_ALL: ReadonlySet<string> = new Set(['Valid', 'EmbeddingServerReady']);

/** What the newest and the accepted spec say of policies, with the content of the ConfigMap that holds them. */
export const withPolicies = async (
  bundle: ServerBundle,
  { content: read }: Pick<Reads, 'content'>,
): Promise<ServerBundle> => {
  const { references, accepted } = bundle;
  const [newest, before] = await Promise.all([
    complete(references, read),
    accepted && complete(accepted.references, read),
  ]);
  return Object.freeze({
    ...bundle,
    references: newest,
    accepted: accepted && before && { ...accepted, references: before },
  });
};

const complete = async (
  references: readonly ResolvedReference[],
  read: ReadContent,
): Promise<readonly ResolvedReference[]> => {
  const metadata = policyConfigMap(references);
  if (metadata === undefined) return references;
  const target = await read(metadata);
  return references.map((each) => (each.target === metadata ? { ...each, target } : each));
};
