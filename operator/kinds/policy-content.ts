import type { ResolvedReference } from '../plan/references.ts';
import type { ServerBundle } from '../plan/server/bundle.ts';
import { policyConfigMap } from '../plan/server/policies.ts';
import type { ReadContent, Reads } from './kind.ts';

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
